"""Operator trees: the rules, LaTeXML's Content MathML, and the labels of published trees."""

import gzip
import re
from pathlib import Path

import pytest

from assay.formulas.opt import opt

M = "http://www.w3.org/1998/Math/MathML"
SUPERSCRIPT = '<csymbol cd="ambiguous">superscript</csymbol>'
FRAGMENTS, UNKNOWN = '<csymbol cd="ambiguous">fragments</csymbol>', '<csymbol cd="unknown">'
SUBSCRIPT = '<csymbol cd="ambiguous">subscript</csymbol>'


def of(content: str) -> str | None:
    return opt(f'<math xmlns="{M}" encoding="MathML-Content">{content}</math>')


@pytest.mark.parametrize(
    ("content", "string"),
    [
        ("<ci>x</ci>", "[V!x]"),
        ("<cn> 1.5 </cn>", "[N!1.5]"),
        ("<ci>a,[b]</ci>", "[V!a&comma;&lsqb;b&rsqb;]"),
        ("<ci/>", "[W!]"),
        ("<ci><merror><mtext>\\foo</mtext></merror></ci>", "[W!]"),
        ("<mtext>if</mtext>", "[T!if]"),
        ("<apply><plus/><ci>x</ci><cn>1</cn></apply>", "[U!plus,0[V!x],1[N!1]]"),
        ("<apply><minus/><ci>x</ci></apply>", "[O!minus,0[V!x]]"),
        ("<apply><sin/><ci>x</ci></apply>", "[F!sin,0[V!x]]"),
        ("<apply><determinant/><ci>A</ci></apply>", "[F!det,0[V!A]]"),
        ("<infinity/>", "[C!infinity]"),
        ("<apply><ci>→</ci><ci>x</ci><infinity/></apply>", "[F!→,0[V!x],1[C!infinity]]"),
        # a root with arguments of its own, a script or not
        (f"<apply><apply>{SUPERSCRIPT}<sin/><cn>2</cn></apply><ci>x</ci></apply>",
         "[+!F!sin,0[O!SUP,0[F!sin],1[N!2]],1[V!x]]"),
        (f"<apply><apply>{SUPERSCRIPT}<apply>{SUBSCRIPT}<int/><cn>0</cn></apply><cn>1</cn></apply><ci>f</ci></apply>",
         "[+!O!SUB,0[O!SUP,0[O!SUB,0[O!int],1[N!0]],1[N!1]],1[V!f]]"),
        ("<apply><apply><ci>→</ci><ci>x</ci><cn>0</cn></apply><eq/></apply>", "[+!,0[F!→,0[V!x],1[N!0]],1[U!eq]]"),
        ("<apply><int/><ci>f</ci></apply>", "[O!int,0[V!f],1[W!],2[W!]]"),
        ("<apply><root/><ci>x</ci></apply>", "[O!root,0[V!x],1[N!2]]"),
        ("<apply><root/><degree><ci>n</ci></degree><ci>x</ci></apply>", "[O!root,0[V!x],1[V!n]]"),
        # groups
        ('<interval closure="closed-open"><ci>a</ci><ci>b</ci></interval>', "[O!interval(C-O),0[V!a],1[V!b]]"),
        ("<interval><ci>a</ci><ci>b</ci></interval>", "[O!interval(C-C),0[V!a],1[V!b]]"),
        ("<vector><ci>x</ci><ci>y</ci><ci>z</ci></vector>", "[M!V-3,0[V!x],1[V!y],2[V!z]]"),
        ("<list/>", "[M!L-0]"),
        ("<set><ci>a</ci></set>", "[M!S-1,0[V!a]]"),
        ("<matrix><matrixrow><ci>a</ci><ci>b</ci></matrixrow><matrixrow><ci>c</ci></matrixrow></matrix>",
         "[M!M-2x2,0[M!R!,0[V!a],1[V!b]],1[M!R!,0[V!c],1[E!]]]"),
        # symbols of LaTeXML
        ('<csymbol cd="latexml">binomial</csymbol>', "[O!binomial]"),
        ('<csymbol cd="latexml">for-all</csymbol>', "[O!forall]"),
        ('<csymbol cd="latexml">modulo</csymbol>', "[O!rem]"),
        ('<csymbol cd="latexml">hyperbolic-cotangent</csymbol>', "[F!coth]"),
        ('<csymbol cd="latexml">Planck-constant-over-2-pi</csymbol>', "[C!hbar]"),
        ('<csymbol cd="latexml">absent</csymbol>', "[W!]"),
        ('<csymbol cd="latexml">delimited-[]</csymbol>', "[M!D-lsqb;&rsqb;]"),
        ('<csymbol cd="latexml">delimited-⟨⟩</csymbol>', "[M!D-⟩]"),
        ('<apply><csymbol cd="latexml">differential-d</csymbol><ci>x</ci></apply>', "[F!d,0[V!x]]"),
        ('<csymbol cd="ambiguous">formulae-sequence</csymbol>', "[O!form-seq]"),  # prose: allow a name
        ('<csymbol cd="ambiguous">missing-subexpression</csymbol>', "[W!]"),
        # what could not be parsed: letters become words
        (f"<cerror>{FRAGMENTS}{UNKNOWN}d</csymbol>{UNKNOWN}x</csymbol><ci>(</ci>{UNKNOWN}y</csymbol></cerror>",
         "[E!,0[O!fragments],1[T!dx],2[V!(],3[-!y]]"),
    ],
)  # fmt: skip
def test_tree_of_content_mathml(content: str, string: str) -> None:
    assert of(content) == string


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<ci>x</ci><ci>y</ci>",
        "<bvar/>",
        '<csymbol cd="other">x</csymbol>',
        '<csymbol cd="ambiguous">x</csymbol>',
    ],
)
def test_content_that_breaks_a_rule_has_no_tree(content: str) -> None:
    assert of(content) is None


@pytest.mark.parametrize("markup", ["", "x", "<math><ci>x</math>", "<math>", "<math><ci>\x00</ci></math>"])
def test_markup_without_a_formula_has_no_tree(markup: str) -> None:
    assert opt(markup) is None


def test_unordered_arguments_beyond_the_edges_are_split_and_ordered_ones_have_no_tree() -> None:
    sixty_three = "<ci>x</ci>" * 63

    string = of(f"<apply><plus/>{sixty_three}</apply>") or ""

    assert string.startswith("[U!plus,0[U!plus,0[V!x],")
    assert string.count("[V!x]") == 63
    assert string.count("[U!plus") == 3
    assert of(f"<vector>{sixty_three}</vector>") is None
    assert (of(f"<vector>{'<ci>x</ci>' * 62}</vector>") or "").endswith(",z[V!x]]")


def test_annotation_of_other_mathml_is_read() -> None:
    annotation = '<annotation-xml encoding="MathML-Content"><apply><plus/><ci>x</ci></apply></annotation-xml>'

    assert (
        opt(f'<m:math xmlns:m="{M}"><semantics><mi>x</mi>{annotation}</semantics></m:math>')
        == "[U!plus,0[V!x]]"
    )


def test_deep_formulas_have_a_tree() -> None:
    string = of("<apply><minus/>" * 500 + "<ci>x</ci>" + "</apply>" * 500) or ""

    assert string.count("minus") == 500
    assert string.endswith("[V!x" + "]" * 501)


def test_published_trees_have_no_label_that_the_rules_do_not_make(data: Path) -> None:
    """The published trees come without MathML: their labels and edges are compared."""
    kinds = re.compile(
        r"[VNT]!.+|F!.+|[UO]!(?:[a-zA-Z-]+)|O!interval\([CO]-[CO]\)|C!(?:infinity|emptyset|imaginaryi|hbar)|W!|E!|"
        r"M!(?:[VLS]-\d+|M-\d+x\d+|R!|D-.+)|-!.*|\+!(?:[FOUVMNC]!.+)?"
    )
    with gzip.open(data / "tangent_s" / "mss_opt.tsv.gz", "rt") as file:
        labels = {label for line in file for label in re.findall(r"(?<=\[)[^\[\],]*", line)}

    assert len(labels) > 500
    assert [label for label in labels if not kinds.fullmatch(label)] == []
