"""Presentation MathML as LaTeX."""

import pytest

from assay.formulas.from_mathml import latex_of

M = "http://www.w3.org/1998/Math/MathML"


@pytest.mark.parametrize(
    ("mathml", "latex"),
    [
        ("<mfrac><mi>a</mi><mn>2</mn></mfrac>", r"\frac{a}{2}"),
        ('<mfrac linethickness="0"><mi>n</mi><mi>k</mi></mfrac>', r"\genfrac{}{}{0pt}{}{n}{k}"),
        ("<msqrt><mi>x</mi><mo>+</mo><mn>1</mn></msqrt>", r"\sqrt{x + 1}"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", r"\sqrt[3]{x}"),
        ("<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>", "{x}_{i}^{2}"),
        ("<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>", "∑_{i}^{n}"),
        ("<munder><mi>lim</mi><mi>n</mi></munder>", r"\operatorname{lim}_{n}"),
        ("<munder><mi>x</mi><mo>_</mo></munder>", r"\underset{\_}{x}"),
        ("<mover><mi>x</mi><mo>¯</mo></mover>", r"\overline{x}"),
        ("<mover><mi>x</mi><mo>^</mo></mover>", r"\hat{x}"),
        ("<mover><mi>x</mi><mi>y</mi></mover>", r"\overset{y}{x}"),
        ("<munderover><mi>x</mi><mi>a</mi><mi>b</mi></munderover>", r"\underset{a}{\overset{b}{x}}"),
        ('<mi mathvariant="double-struck">R</mi>', r"\mathbb{R}"),
        ("<mtext>50 % &amp; more</mtext>", r"\text{ 50 \% \& more }"),
        (r"<mo>{</mo><mo>\</mo><mo>&#x2062;</mo>", r"\{ \backslash"),
        ('<mfenced open="["><mi>a</mi><mi>b</mi></mfenced>', r"\left[ a,b \right)"),
        ("<mtable><mtr><mtd><mi>a</mi></mtd><mtd>b</mtd></mtr></mtable>", r"\begin{matrix} a & b \end{matrix}"),
        (
            "<mmultiscripts><mi>U</mi><none/><none/><mprescripts/><mn>92</mn><mn>238</mn></mmultiscripts>",
            "{}_{92}^{238}{U}",
        ),
        ('<mws:qvar xmlns:mws="http://search.mathweb.org/ns" name="y"/>', r"\qvar{y}"),
        (
            '<mws:simto xmlns:mws="http://search.mathweb.org/ns" name="a"><mi>d</mi><mi>c</mi></mws:simto>',
            r"\simto{a}{d c}",
        ),
    ],
)  # fmt: skip
def test_presentation_is_written_as_latex(mathml: str, latex: str) -> None:
    markup = f'<math xmlns="{M}">{mathml}</math>'
    prefixed = (
        f'<m:math xmlns:m="{M}"><m:semantics><m:ci>z</m:ci><m:annotation-xml encoding="MathML-Presentation">'
    )

    assert latex_of(markup) == latex
    if mathml.startswith("<mws"):
        assert latex_of(f"{prefixed}{mathml}</m:annotation-xml></m:semantics></m:math>") == latex


def test_markup_without_a_formula_has_no_latex() -> None:
    assert latex_of("<p>x</p>") == ""
    assert latex_of("<math>" + "<mrow>" * 5_000 + "</mrow>" * 5_000 + "</math>") == ""
