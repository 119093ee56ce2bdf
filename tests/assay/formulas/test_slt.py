"""SLT strings equal those of Tangent on real formulas, follow each rule, and no text stops a worker."""

import csv
import gzip
import hashlib
import re
import sys
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.formulas.slt import slt

MATHML = "http://www.w3.org/1998/Math/MathML"


def of(content: str) -> str | None:
    return slt(f'<math xmlns="{MATHML}">{content}</math>')


def rows(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(10**9)
    with gzip.open(path, "rt", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_strings_equal_tangents_on_every_row_of_the_reference(data: Path) -> None:
    reference = rows(data / "slt" / "slt_reference.tsv.gz")

    wrong = [
        row["formula_id"] for row in reference if slt(row["presentation_mathml"]) != row["tangent_slt_string"]
    ]

    assert (len(reference), wrong) == (4639, [])


def test_strings_equal_tangents_on_formulas_of_a_later_latexml(data: Path) -> None:
    reference = rows(data / "slt" / "latex_mathml_slt.tsv.gz")

    wrong = [
        row["latex"]
        for row in reference
        if slt(row["presentation_mathml_latexml087"]) != (row["tangent_slt_string"] or None)
    ]

    assert (len(reference), wrong) == (778, [])


def test_strings_equal_tangents_on_every_formula_of_the_real_pages(data: Path) -> None:
    digests = {
        row["formula_id"]: row["sha1_of_tangent_slt"]
        for row in rows(data / "arqmath" / "formulas" / "formula_id_visual_id.tsv.gz")
    }

    string_of = cache(slt)  # half of the formulas repeat another
    strings = {code: string_of(markup) for code, markup in _in_pages(data) if code in digests}
    wrong = [code for code, string in strings.items() if _digest(string) != digests[code]]

    assert (len(strings), wrong) == (47_867, [])


def _in_pages(data: Path) -> Iterator[tuple[str, str]]:
    span = re.compile(
        r'<span class="math-container" id="([^"]*)" visual_id="[^"]*">(<math.*?</math>)', re.DOTALL
    )
    seen: set[str] = set()
    with tarfile.open(data / "arqmath" / "math_se_pages.tar.xz") as pages:
        for page in pages:
            file = pages.extractfile(page) if page.name.endswith(".html") else None
            for code, markup in span.findall(file.read().decode(errors="replace") if file else ""):
                if code not in seen:
                    seen.add(code)
                    yield code, markup


def _digest(string: str | None) -> str:
    return hashlib.sha1((string or "").encode()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        # leaves
        ("<mi>x</mi>", "[V!x]"),
        ("<mn> 12\n</mn>", "[N!12]"),
        ("<mtext>a, [b]? c\td</mtext>", r"[T!a&comma; &lsqb;b&rsqb;&quest; c\td]"),
        ("<mi/>", "[W!]"),
        ("<mtext> </mtext>", "[W!]"),
        ("<merror><mtext>\\gt</mtext></merror>", "[E!]"),
        ("<mphantom><maction/></mphantom>", "[W!]"),
        ("<mi>x<!-- y -->z</mi>", "[V!xz]"),
        ('<mws:qvar xmlns:mws="http://search.mathweb.org/ns" name="a"/>', "[?a]"),
        ("<qvar>b</qvar>", "[?b]"),
        ('<mrow><mws:simto name="a"><mi>d</mi><mi>c</mi></mws:simto><mi>x</mi></mrow>', "[V!d[V!c[V!x]]]"),
        # rows
        ("<mrow><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mi>y</mi></mrow>", "[V!x[+[V!y]],a[N!2]]"),
        ("<mrow><mi>f</mi><mo>\u2061</mo><mspace/><mi>x</mi></mrow>", "[V!f[V!x]]"),
        ("<mrow><mo>\u2062</mo></mrow>", None),
        ("<semantics><mi>a</mi><maction/></semantics>", "[V!a]"),
        ("<mstyle><mi>a</mi><mi>b</mi></mstyle>", "[V!a]"),
        ("<mi>a</mi><mi>b</mi>", None),
        ("", None),
        # fences
        (
            "<mrow><mi>f</mi><mrow><mo>(</mo><mi>x</mi><mo>,</mo><mi>y</mi><mo>)</mo></mrow></mrow>",
            "[V!f[M!()1x2,w[V!x[&comma;],e[V!y]]]]",
        ),
        ("<mrow><mo>(</mo><mrow><mi>x</mi><mo>,</mo></mrow><mo>]</mo></mrow>", "[M!(&rsqb;1x2,w[V!x[&comma;]]]"),
        ("<mrow><mo>|</mo><mo>,</mo><mi>x</mi><mo>|</mo></mrow>", "[M!||1x2,w[W![&comma;],e[V!x]]]"),
        ("<mrow><mo>|</mo><mrow><mo>,</mo><mi>x</mi></mrow><mo>|</mo></mrow>", "[M!||1x2,w[W![&comma;],e[V!x]]]"),
        ("<mrow><mo>(</mo><mo>)</mo></mrow>", "[([)]]"),
        ("<mfenced/>", "[M!()]"),
        ('<mfenced open="[" separators=", ;"><mi>a</mi><mi>b</mi><mi>c</mi></mfenced>',
         "[M!&lsqb;)1x2,w[V!a[,],e[V!b[;[V!c]]]]]"),
        # scripts
        ("<msub><mo>∑</mo><mi>k</mi></msub>", "[∑,u[V!k]]"),
        ("<munder><mi>k</mi><mi>n</mi></munder>", "[V!k,u[V!n]]"),
        ("<msup><mi/><mn>2</mn></msup>", "[W!,a[N!2]]"),
        ("<msup><mrow><mi>a</mi><mi>b</mi></mrow><mn>2</mn></msup>", "[M!1x1,a[N!2],w[V!a[V!b]]]"),
        ("<msup><msup><mi>a</mi><mi>b</mi></msup><mn>2</mn></msup>", "[M!1x1,a[N!2],w[V!a,a[V!b]]]"),
        ("<msub><msup><mi>a</mi><mi>b</mi></msup><mn>2</mn></msub>", "[V!a,a[V!b],b[N!2]]"),
        ("<msup><mi>a</mi></msup>", "[V!a]"),
        ("<msup><menclose notation=''><mi>a</mi></menclose><mn>2</mn></msup>", None),
        # fractions, roots, enclosures
        ("<mfrac><mn>1</mn><mrow/></mfrac>", "[O!divide,o[N!1]]"),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", "[O!root,c[N!3],w[V!x]]"),
        ("<msqrt><mi>x</mi><mo>+</mo><mi>y</mi></msqrt>", "[O!root,w[V!x[+[V!y]]]]"),
        ("<msqrt/>", "[W!]"),
        ("<msqrt><mrow/><mi>y</mi></msqrt>", "[O!root]"),
        ("<menclose><mi>x</mi></menclose>", "[longdiv,w[V!x]]"),
        # scripts on every corner
        ("<mmultiscripts><mi>x</mi><mi>a</mi><none/><mprescripts/><none/><mi>b</mi></mmultiscripts>",
         "[V!x,b[V!a],c[V!b]]"),
        ("<mmultiscripts><mi>x</mi><mi>a</mi><none/><mi>b</mi><none/></mmultiscripts>", "[V!x,a[W!],b[V!a[V!b]]]"),
        ("<mmultiscripts><mi>x</mi><mi>a</mi><mrow/></mmultiscripts>", None),
        ("<mrow><mprescripts/></mrow>", None),
        # tables
        ("<mtable><mtr><mtd/><mtd><mi>a</mi></mtd></mtr><mtr/></mtable>", "[M!2x2,w[W!,e[V!a,e[W!]]]]"),
        ("<mrow><mo>(</mo><mtable><mtr><mtd><mn>1</mn></mtd></mtr></mtable><mo>)</mo></mrow>", "[M!()1x1,w[N!1]]"),
        ("<mtable/>", None),
        ("<mrow><mi>x</mi><mglyph/></mrow>", None),
    ],
)  # fmt: skip
def test_rule(content: str, expected: str | None) -> None:
    assert of(content) == expected


def table(*cells: str) -> str:
    """A table of one column."""
    return f"<mtable>{''.join(f'<mtr><mtd><mi>{cell}</mi></mtd></mtr>' for cell in cells)}</mtable>"


def test_adjacent_tables_are_joined_row_by_row() -> None:
    assert of(f"<mrow>{table('a', 'b')}{table('c', 'd')}{table('e', 'f')}<mi>x</mi></mrow>") == (
        "[M!2x3[V!x],w[V!a,e[V!c,e[V!e,e[V!b,e[V!d,e[V!f]]]]]]]"
    )


def test_tables_of_different_heights_are_not_joined() -> None:
    assert of(f"<mrow>{table('a', 'b')}{table('c')}</mrow>") == "[M!2x1[M!1x1,w[V!c]],w[V!a,e[V!b]]]"


@pytest.mark.parametrize(
    "markup",
    [
        f'before <m:math xmlns:m="{MATHML}"><m:mi>x</m:mi></m:math> after <math><mi>y</mi></math>',
        "<math><mi>x</mi></math>",
        '<math xmlns="http://elsewhere.example/"><mi>x</mi></math>',
        '<math alttext="a>b"><mi>x</mi></math>',
        "<math><MI>x</MI></math>",
        "<math><mi>x</math>",
        '<math><mi>x</mi><annotation encoding="application/x-tex">&lt;</annotation></math>',
        '<math><mi>x</mi><annotation-xml encoding="MathML-Content"><ci>q</ci></annotation-xml></math>',
        '<math><ci>q</ci><annotation-xml encoding="MathML-Presentation"><mi>x</mi></annotation-xml></math>',
        '<math><ci>q<annotation-xml encoding="MathML-Presentation"><mi>x</mi></annotation-xml></math>',
        f'<!DOCTYPE math [<!ENTITY x "y">]><math xmlns="{MATHML}"><mi>x</mi></math>',
    ],
)
def test_presentation_is_found_at_any_place(markup: str) -> None:
    assert slt(markup) == "[V!x]"


@pytest.mark.parametrize(
    "markup",
    ["", "x", "<math", "<math>", "</math>", "<math/>", "<math></math>", "<MATH><mi>x</mi></MATH>",
     "<math><mws:qvar name='a'/></math>", "<mathx><mi>x</mi></mathx>"],
)  # fmt: skip
def test_markup_without_a_formula_has_no_string(markup: str) -> None:
    assert slt(markup) is None


def test_entities_of_html_are_read_and_entities_of_the_file_are_not() -> None:
    assert of("<mo>&le;</mo>") == "[≤]"
    assert of("<mo>a & b</mo>") == "[a & b]"
    assert (
        slt('<!DOCTYPE math [<!ENTITY e SYSTEM "file:///etc/passwd">]><math><mi>&e;</mi></math>') == "[V!&e;]"
    )


@pytest.mark.parametrize("n", [2_000, 100_000])
@pytest.mark.parametrize(
    ("before", "middle", "after"),
    [
        ("<mrow>", "<mi>x</mi>", "<mo>+</mo></mrow>"),
        ("<mrow><mo>(</mo>", "<mi>x</mi>", "<mo>)</mo></mrow>"),
        ("<msqrt>", "<mi>x</mi>", "</msqrt>"),
        ("<msup>", "<mi>x</mi>", "<mi>y</mi></msup>"),
        ("<mrow>", "", ""),
        ("<mrow>", "&foo;", "</mrow>"),
        ("<", "", ""),
        ("<math ", "", ""),
        ("<math>", "", ""),
    ],
)
def test_no_nesting_stops_the_process(before: str, middle: str, after: str, n: int) -> None:
    string = of(before * n + middle + after * n)

    assert string is None or string.startswith("[")


def test_nesting_deeper_than_the_interpreters_stack_has_a_string() -> None:
    n = sys.getrecursionlimit() + 500

    assert of("<msqrt>" * n + "<mi>x</mi>" + "</msqrt>" * n) == "[O!root,w" * n + "[V!x]" + "]" * n


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<mrow><mo>(</mo>{}<mo>)</mo></mrow>", "[M!()1x1,w{}]"),
        ("<mrow>{}</mrow>", "{}"),
    ],
)
def test_megabytes_in_a_row_have_a_string(content: str, expected: str) -> None:
    n = 50_000

    assert of(content.format("<mi>x</mi>" * n)) == expected.format("[V!x" * n + "]" * n)


def test_many_adjacent_tables_have_a_string() -> None:
    n = 20_000

    assert of(f"<mrow>{table('a', 'b') * n}</mrow>") == (
        f"[M!2x{n},w{'[V!a,e' * n}{'[V!b,e' * (n - 1)}[V!b{']' * 2 * n}]"
    )


NAMES = st.sampled_from(
    re.findall(
        r"\S+",
        """
        math mrow mi mn mo mtext mspace none mprescripts msub msup msubsup munder mover munderover mfrac mroot msqrt
        mfenced menclose mtable mtr mtd mmultiscripts mstyle mpadded mphantom merror semantics annotation
        annotation-xml mglyph qvar simto
        """,
    )
)
TEXTS = st.sampled_from(
    ["", "x", "1", "(", ")", "[", ",", "|", "!", "?", "!!", "M!", "M!2x2", "M!9x", "W!", "\u2062"]
)
ATTRIBUTES = st.sampled_from(
    ["", ' open="["', ' separators=""', ' notation="M!1x1"', ' name="q"', ' encoding="MathML-Presentation"',
     ' encoding="application/x-tex"', ' xmlns="u:x"']
)  # fmt: skip


def _element(name: str, attributes: str, text: str, children: list[str]) -> str:
    return f"<{name}{attributes}>{text}{''.join(children)}</{name}>"


ELEMENTS = st.recursive(
    st.builds(_element, NAMES, ATTRIBUTES, TEXTS, st.just([])),
    lambda children: st.builds(_element, NAMES, ATTRIBUTES, TEXTS, st.lists(children, max_size=6)),
    max_leaves=30,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ELEMENTS, max_size=2))
def test_any_elements_have_a_balanced_string_or_none(elements: list[str]) -> None:
    string = of("".join(elements))

    assert string is None or (string[0], string[-1], string.count("[")) == ("[", "]", string.count("]"))


PIECES = st.sampled_from(
    ["<math", ">", "</math>", "<", "<mi>", "</", "&", ";", '"', "x", ":", "mws:", "\0", "\ud800"]
)


@settings(max_examples=300, deadline=None)
@given(st.text(), st.lists(PIECES))
def test_any_text_has_a_string_or_none(text: str, pieces: list[str]) -> None:
    for markup in (text, "".join(pieces), f"<math>{text}{''.join(pieces)}</math>"):
        string = slt(markup)
        assert string is None or string.startswith("[")
