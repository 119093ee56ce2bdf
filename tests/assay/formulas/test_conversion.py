"""LaTeX as MathML: what is refused and repaired, both converters, and the cache."""

import csv
import gzip
import os
import shutil
import stat
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path

import pytest

from assay.errors import InputError
from assay.formulas import latexml
from assay.formulas.conversion import Cache, Converter, convert_batch, fill
from assay.formulas.grouping import presentation_of
from assay.formulas.latexml import Conversion
from assay.formulas.opt import opt
from assay.formulas.slt import slt
from assay.formulas.source import prepared

has_latexml = pytest.mark.skipif(not shutil.which("latexmlc"), reason="LaTeXML is not installed")


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        ("  a \n\n b\t", "a b"),
        ("a &lt; b &amp;= c", "a < b &= c"),
        ("a % comment\nb \\% c", r"a b \% c"),
        (r"\frac{1}{2", r"\frac{1}{2}"),
        (r"a} \} {b", r"a \} {b}"),
        (r"$a$ \text{if $b$ or $c}", r"a \text{if $b$ or $c$}"),
        (r"\begin{cases} a & b", r"\begin{cases} a & b\end{cases}"),
        (r"{\begin{matrix} a} b", r"{\begin{matrix} a\end{matrix}} b"),
        (r"a \end{matrix} b", "a  b"),
        (r"\begin{align*}a&=b\end{align*}", r"\begin{aligned}a&=b\end{aligned}"),
        (r"\begin{equation}\begin{split}a\end{split}\end{equation}", r"\begin{split}a\end{split}"),
        (r"\begin{eqnarray}a&=&b\end{eqnarray}", r"\begin{array}{rcl}a&=&b\end{array}"),
    ],
)
def test_latex_is_repaired(latex: str, expected: str) -> None:
    assert prepared(latex) == expected


@pytest.mark.parametrize(
    ("latex", "reason"),
    [
        ("  % nothing", "the formula is empty"),
        ("x" * 20_001, "20,001 characters; at most 20,000 are converted"),
        (r"\def\a{\a\a}\a", r"\\def is refused"),
        (r"\newcommand{\x}{y} \x", r"\\newcommand is refused"),
        (r"\input{/etc/passwd}", r"\\input is refused"),
        (r"^^5cinput{x}", r"\^\^ is refused"),
        (r"\in}put{/etc/passwd}", r"\\input is refused"),
        (r"\in$put{/etc/passwd}", r"\\input is refused"),
        (r"\begin {input}{/etc/passwd}\end{input}", r"\\begin {input is refused"),
        (r"\InputIfFileExists{/etc/passwd}{}{}", r"\\InputIfFileExists is refused"),
    ],
)
def test_latex_that_must_not_run_is_refused(latex: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        prepared(latex)


def test_commands_that_only_begin_like_a_refused_one_are_accepted() -> None:
    assert prepared(r"\definitely \letter \inputs") == r"\definitely \letter \inputs"


def reference(data: Path) -> list[dict[str, str]]:
    csv.field_size_limit(10**9)
    with gzip.open(data / "slt" / "latex_mathml_slt.tsv.gz", "rt", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def test_strings_of_latex2mathml_agree_with_those_of_latexml(data: Path) -> None:
    """Without `grouped`, 358 of the 778 strings are equal (46.0 %); with it, 90.9 %."""
    rows = reference(data)

    equal = [slt(presentation_of(row["latex"])) == row["tangent_slt_string"] for row in rows]

    assert (sum(equal), len(equal)) == (707, 778)


@pytest.mark.parametrize(
    ("latex", "string"),
    [
        ("f(x)^2", "[V!f[M!()1x1,a[N!2],w[V!x]]]"),
        ("[(a)]_1", "[M!&lsqb;&rsqb;1x1,b[N!1],w[M!()1x1,w[V!a]]]"),
        ("x(a]", "[V!x[([V!a[&rsqb;]]]]"),  # not balanced
        (r"\displaystyle a+b", "[V!a[+[V!b]]]"),
        ("x := ...", "[V!x[:=[V!…]]]"),
        (r"\mathbb{Q}Q\mathcal{P}\mathfrak{g}", "[V!ℚ[V!Q[V!𝒫[V!𝔤]]]]"),
        (r"\infty\cdot\emptyset", "[V!∞[⋅[V!∅]]]"),
        ("a<b", "[V!a[<[V!b]]]"),
        (prepared(r"\begin{alignat}{2}a&=b\\c&=d\end{alignat}"), None),
    ],
)
def test_mathml_of_latex2mathml_has_the_structure_of_latexml(latex: str, string: str | None) -> None:
    tree = slt(presentation_of(latex)) or ""

    assert tree == string if string else "M!2x2" in tree


@pytest.mark.parametrize("latex", ["{" * 3000 + "}" * 3000, "a^b^c", r"\left(", r"\sqrt"])
def test_formulas_that_latex2mathml_cannot_read_are_failures(latex: str) -> None:
    (conversion,) = convert_batch("latex2mathml", [latex])

    assert conversion == Conversion(message=conversion.message)
    assert conversion.message.startswith("latex2mathml cannot read it: ")


@has_latexml
def test_latexml_makes_both_forms_and_keeps_formulas_apart() -> None:
    sources = [
        r"a<b<c",
        r"\begin{align*}x&=1\\y&=2\end{align*}",
        r"\left(x",
        r"\text{if}",
        r"\mbox{if $a$}",
        "y",
    ]

    conversions = convert_batch("latexml", sources)

    strings = [(slt(formula.presentation), opt(formula.content)) for formula in conversions]
    # the operand that two relations share is there twice, and `align*` is one table
    assert strings[0] == ("[V!a[<[V!b[<[V!c]]]]]", "[U!and,0[O!lt,0[V!𝑎],1[V!𝑏]],1[O!lt,0[V!𝑏],1[V!𝑐]]]")
    assert str(strings[1][0]).startswith("[M!2x2,w[V!x,e[")
    assert strings[2] == ("[([V!x]]", None)
    assert [string for string, _ in strings[3:]] == ["[T!if]", "[T!if a]", "[V!y]"]
    assert "xref" not in "".join(map("".join, conversions))


@has_latexml
def test_latexml_reads_no_file_that_a_formula_names(tmp_path: Path) -> None:
    (tmp_path / "secret.tex").write_text("91827")
    (tmp_path / "secret.sty.ltxml").write_text("DefMacro('\\secret', '91827'); 1;")
    secret = tmp_path / "secret"

    conversions = latexml.convert(
        [
            rf"a \input{{{secret}}}",
            rf"b \csname @@input\endcsname {secret}.tex ",
            rf"c \newread\f\openin\f={secret}.tex \read\f to\x \x",
            rf"d \RequirePackage{{{secret}}}\secret",
        ]
    )

    # a command that is refused only by its name can be written in another way, so LaTeXML itself must not obey
    assert "91827" not in "".join(map("".join, conversions))


@has_latexml
def test_strings_of_latexml_are_those_of_the_reference(data: Path) -> None:
    rows = reference(data)[::26]

    conversions = convert_batch("latexml", [row["latex"] for row in rows])

    assert [slt(formula.presentation) or "" for formula in conversions] == [
        row["tangent_slt_string"] for row in rows
    ]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for a program that is called instead of LaTeXML."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    latexml.version.cache_clear()
    return tmp_path / "latexmlc"


def written(program: Path, script: str) -> None:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_a_program_that_hangs_is_ended_with_its_children(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latexml, "_SECONDS", (1, 0))
    monkeypatch.setattr(latexml, "_WALL", 1)
    written(program, f"sleep 600 & echo $! > {tmp_path}/child; wait")

    conversions = latexml.convert(["a"])

    assert conversions == [Conversion(message="LaTeXML did not end in time")]
    child = (tmp_path / "child").read_text().strip()
    assert ended(child)


def ended(process: str) -> bool:
    """Return whether a process ends soon: the system removes it after its group was ended."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
    return False


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -s XCPU $$", "LaTeXML did not end in time"),
        ("echo Error:undefined:a  b >&2; echo '<p'", "undefined:a b"),
        ("exit 3", "LaTeXML made no formula of it"),
        ("exec yes", "LaTeXML writes more than 64 MB"),
        ("exec yes > log", "LaTeXML writes more than 64 MB"),
    ],
)
def test_a_program_that_breaks_gives_a_failure_with_its_message(
    program: Path, script: str, message: str
) -> None:
    written(program, script)

    assert latexml.convert(["a", "b"]) == [Conversion(message=message)] * 2


def test_formula_that_breaks_the_document_is_converted_alone_and_the_others_again(
    program: Path, tmp_path: Path
) -> None:
    """The program repeats its input and stops at BAD, as LaTeXML puts all after an open brace into the formula."""
    written(
        program,
        f"echo run >> {tmp_path}/runs; echo '<div xmlns=\"http://www.w3.org/1999/xhtml\">'; "
        r"grep -o 'Formula.*' | tr -d '\\{}$' | sed -n -e 's/.*/<p>&<\/p>/; p; /BAD/q'; echo '</div>'",
    )
    formulas = [*map(str, range(9)), "BAD", *map(str, range(10, 25))]

    conversions = latexml.convert(formulas)

    assert [slt(formula.presentation) for formula in conversions] == [
        f"[T!{formula}]" for formula in formulas
    ]
    assert len((tmp_path / "runs").read_text().split()) == 3


def test_missing_converter_is_named_with_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    latexml.version.cache_clear()

    with pytest.raises(InputError, match="apt-get install latexml"):
        Converter.named("latexml")
    assert Converter.named("auto").name == "latex2mathml"
    assert not Converter.named("auto").has_content


def test_unknown_converter_is_refused() -> None:
    with pytest.raises(InputError, match="no converter tex; use auto, latexml, latex2mathml"):
        Converter.named("tex")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache.sqlite", Converter.named("latex2mathml"))


def test_each_formula_is_converted_once(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[Sequence[str]] = []

    def convert(name: str, formulas: Sequence[str]) -> list[Conversion]:
        batches.append(formulas)
        return convert_batch(name, formulas)

    monkeypatch.setattr("assay.formulas.conversion.convert_batch", convert)
    steps: list[tuple[int, int]] = []
    formulas = [f"x_{n % 150}" for n in range(400)]

    first = fill(cache, formulas, progress=lambda done, total: steps.append((done, total)))
    second = fill(cache, [*formulas, "y"])

    assert [len(batch) for batch in batches] == [100, 50, 1]
    assert steps == [(0, 150), (100, 150), (150, 150)]
    assert second == first | {"y": second["y"]}


def test_results_of_another_converter_or_version_are_not_used(cache: Cache) -> None:
    fill(cache, ["x"])

    newer = Cache(cache.path, cache.converter._replace(version="99"))

    assert newer.known(["x"]) == {}
    assert cache.known(["x", "y"]).keys() == {"x"}


def test_failures_are_kept_with_their_message(cache: Cache) -> None:
    fill(cache, [r"\def\a{}"])

    assert cache.known([r"\def\a{}"])[r"\def\a{}"].message.startswith(r"\def is refused")


def test_processes_share_a_cache(cache: Cache) -> None:
    context = get_context("spawn")
    parts = [[f"x_{n}" for n in range(start, start + 300)] for start in (0, 100, 200)]
    workers = [context.Process(target=fill, args=(cache, part)) for part in parts]

    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(cache.known([f"x_{n}" for n in range(500)])) == 500


def test_several_processes_give_the_same_results_as_one(cache: Cache, tmp_path: Path) -> None:
    formulas = [f"x^{n}" for n in range(250)]
    other = Cache(tmp_path / "other.sqlite", cache.converter)

    assert fill(cache, formulas, processes=2) == fill(other, formulas)


def test_file_without_a_cache_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "cache.sqlite"
    file.write_text("not a database, but text that is long enough to look like one" * 10)

    with pytest.raises(InputError, match="cannot be used as a cache of formulas"):
        Cache(file, Converter.named("latex2mathml"))
