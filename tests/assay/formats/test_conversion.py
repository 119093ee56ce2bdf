"""Formula indexes in LaTeX as indexes in MathML: rows, failures, continuation, and refusals."""

import csv
import gzip
from pathlib import Path

import pytest

from assay.errors import BadFile, InputError
from assay.formats.conversion import Counts, Step, convert_file, convert_index, indexes_of
from assay.formats.documents.indexes import Index
from assay.formats.documents.sources import form_of
from assay.formats.formulas import Source, strings_of
from assay.formulas.conversion import Cache, Converter
from assay.formulas.latexml import Conversion

HEADER = "id\tpost_id\tthread_id\ttype\tcomment_id\told_visual_id\tvisual_id\tissue\tformula\n"
ROWS = [
    "1\t10\t10\ttitle\t\t\t\t\tx^2\n",
    '2\t10\t10\tcomment\t7\t\t\t\t"""a""<b"\n',
    "3\t11\t10\tanswer\t\t\t\t\t\\def\\a\n",
]


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache.sqlite", Converter.named("latex2mathml"))


@pytest.fixture
def latex(tmp_path: Path) -> Path:
    folder = tmp_path / "latex"
    folder.mkdir()
    (folder / "1.tsv").write_text(HEADER + "".join(ROWS))
    (folder / "2.tsv").write_text(HEADER + "4\t12\t12\tquestion\t\t\t\t\tx^2\n")
    return folder


def table(path: Path) -> list[list[str]]:
    with path.open(newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


def test_rows_stay_and_failures_are_listed_with_id_place_and_message(
    latex: Path, tmp_path: Path, cache: Cache
) -> None:
    steps: list[Step] = []

    counts = convert_index(latex, tmp_path / "out", cache=cache, progress=steps.append)

    assert counts == Counts(formulas=4, without_slt=1, without_opt=0)
    before, after = table(latex / "1.tsv"), table(tmp_path / "out" / "slt" / "1.tsv")
    assert [row[:-1] for row in after] == [row[:-1] for row in before]
    assert [row[-1] for row in (after[0], after[3])] == ["slt", ""]
    assert not (tmp_path / "out" / "opt").exists()
    (failure,) = table(tmp_path / "out" / "failures" / "1.tsv")[1:]
    assert failure[:4] == ["3", "11", "answer", "slt"]
    assert failure[4].startswith(r"\def is refused")
    assert steps[0] == Step("1.tsv to 2.tsv", 0, 2, 0, 3)  # small files are converted together
    assert steps[-1] == Step("2.tsv", 1, 2, 0, 0)  # the cache has its formula


def test_each_file_is_written_once(
    latex: Path, tmp_path: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    named: list[Path] = []
    replace = Path.replace

    def rename(part: Path, target: Path) -> Path:
        named.append(target)
        return replace(part, target)

    monkeypatch.setattr(Path, "replace", rename)

    convert_index(latex, tmp_path / "out", cache=cache)

    assert [each for each in named if named.count(each) > 1] == []
    assert len(named) == 2 * 2, "MathML and failures of two files"


def test_result_is_an_index_of_presentation_mathml(latex: Path, tmp_path: Path, cache: Cache) -> None:
    convert_index(latex, tmp_path / "out", cache=cache)

    file = tmp_path / "out" / "slt" / "1.tsv"
    assert form_of(file.read_bytes(), file.name).name == Index("slt", 3).form
    assert next(string for rows in Source([file]) for string in strings_of(rows)) == ("1", "[V!x,a[N!2]]")


def test_content_goes_into_an_index_of_its_own(latex: Path, tmp_path: Path) -> None:
    full = Cache(tmp_path / "full.sqlite", Converter("latexml", "0", has_content=True))
    mathml = "<math><mi>x</mi></math>"
    full.add({"x^2": Conversion(mathml, "<math><ci>x</ci></math>"), '"a"<b': Conversion(mathml)})
    full.add({r"\def\a": Conversion(message="no")})

    counts = convert_file(latex / "1.tsv", tmp_path, cache=full)

    assert counts == Counts(formulas=3, without_slt=1, without_opt=2)
    assert [row[-1] for row in table(tmp_path / "opt" / "1.tsv")] == [
        "opt",
        "<math><ci>x</ci></math>",
        "",
        "",
    ]
    assert [row[3:] for row in table(tmp_path / "failures" / "1.tsv")[1:]] == [
        ["opt", "LaTeXML could not parse the formula"],
        ["slt", "no"],
        ["opt", "no"],
    ]
    file = tmp_path / "opt" / "1.tsv"
    strings = [pair for rows in Source([file], form="opt") for pair in strings_of(rows, form="opt")]
    assert strings == [("1", "[V!x]")]


def test_converted_files_are_skipped_and_changed_ones_are_not(
    latex: Path, tmp_path: Path, cache: Cache
) -> None:
    convert_index(latex, tmp_path, cache=cache)
    result = tmp_path / "slt" / "1.tsv"
    first = result.stat().st_mtime_ns
    steps: list[Step] = []

    again = convert_index(latex, tmp_path, cache=cache, progress=steps.append)
    (latex / "2.tsv").write_text(HEADER + "5\t12\t12\tquestion\t\t\t\t\ty\n")
    (tmp_path / "slt" / "2.tsv").unlink()  # as if the first conversion had been ended here
    convert_index(latex, tmp_path, cache=cache, progress=steps.append)

    assert again == Counts(4, 1, 0)
    assert result.stat().st_mtime_ns == first
    assert {step.files for step in steps} == {"2.tsv"}
    assert table(tmp_path / "slt" / "2.tsv")[1][0] == "5"


def test_a_folder_has_formulas_of_one_converter(latex: Path, tmp_path: Path, cache: Cache) -> None:
    convert_index(latex, tmp_path, cache=cache)

    with pytest.raises(InputError, match=r"has formulas of latex2mathml [\d.]+, not of latexml 1"):
        convert_index(
            latex, tmp_path, cache=Cache(tmp_path / "x", Converter("latexml", "1", has_content=True))
        )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tb\n1\t2\n", "is not a formula index in LaTeX: its first line is 'a b'"),
        (b"", "is not a formula index in LaTeX"),
        (b"id\tslt\n1\tx\n", "the last one formula"),
        (b"id\tformula\n1\tx\n2\n", "line 3: expected 2 columns; got 1"),
        (b"id\tformula\n1\tx\n\tx\n", "line 3: expected 2 columns; the id is empty"),
        (b"id\tformula\n1\tx\n2\t\xff\n", "line 3: not UTF-8"),
        (b'id\tformula\n1\t"x\n', "line 2: unexpected end of data"),
    ],
)
def test_broken_index_is_refused_with_the_line(
    content: bytes, message: str, tmp_path: Path, cache: Cache
) -> None:
    file = tmp_path / "1.tsv"
    file.write_bytes(content)

    with pytest.raises(BadFile, match=message):
        convert_file(file, tmp_path / "out", cache=cache)
    assert not list((tmp_path / "out").glob("*/*"))


def test_compressed_index_is_converted(latex: Path, tmp_path: Path, cache: Cache) -> None:
    (tmp_path / "9.tsv.gz").write_bytes(gzip.compress((latex / "1.tsv").read_bytes()))

    assert convert_file(tmp_path / "9.tsv.gz", tmp_path, cache=cache).formulas == 3
    assert (tmp_path / "slt" / "9.tsv").is_file()


def test_files_with_the_same_results_are_refused(latex: Path, tmp_path: Path, cache: Cache) -> None:
    (latex / "1.new.tsv").write_text(HEADER + ROWS[0])

    with pytest.raises(InputError, match=r"1.new.tsv and 1.tsv would have the same results; rename one"):
        convert_index(latex, tmp_path, cache=cache)

    assert not (tmp_path / "slt").exists()


def test_formulas_of_real_topics_have_the_published_ids_and_latex(data: Path, tmp_path: Path) -> None:
    topics = data / "arqmath" / "topics" / "topics.arqmath-2021-task1-origin.xml"

    index, out = indexes_of(topics, tmp_path)

    assert out == tmp_path
    ours = {row[0]: row for row in table(index)[1:]}
    published = {row[0]: row for row in table(data / "arqmath" / "formulas" / "2021_formulas_latex.tsv")[1:]}
    assert len(ours) == len(published) == 843
    common = ours.keys() & published.keys()
    assert len(common) == 828  # the others have no mark of their own in the topics
    assert all(ours[code][4] == " ".join(published[code][4].split()) for code in common)
    assert all(ours[code][1] == published[code][1] for code in common)
    assert all(ours[code][3] == published[code][3] for code in common)


def test_place_of_results_is_given_by_a_folder_of_indexes_only(latex: Path, tmp_path: Path) -> None:
    built = tmp_path / "built"
    (built / "formulas").mkdir(parents=True)
    latex.rename(built / "formulas" / "latex")

    assert indexes_of(built, None) == (built / "formulas" / "latex", built / "formulas")
    with pytest.raises(InputError, match="--output is missing"):
        indexes_of(built / "formulas" / "latex" / "1.tsv", None)
