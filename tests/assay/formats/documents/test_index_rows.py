"""Formula indexes are recognized, cut into chunks of rows, and converted."""

import csv
import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import BadFile
from assay.formats.documents.batch import AGAIN
from assay.formats.documents.dump import Reader
from assay.formats.documents.index_rows import (
    COLUMNS,
    NO_CLOSE,
    NO_NAME,
    NO_TEXT,
    NO_TYPE,
    NO_VISUAL,
    NO_WIDTH,
    TOO_LONG,
    convert,
)
from assay.formats.documents.indexes import HEADERS, Index
from assay.formats.documents.sources import form_of

V1, V2, V3 = ("\t".join(header) + "\n" for header in HEADERS.values())
SLT = '<math alttext="x"><mi>x</mi></math>'
OPT = "<math><apply><ci>x</ci></apply></math>"
NAMES = COLUMNS.split(", ")


def rows(text: str | bytes, form: str = "formulas-latex-v2") -> list[dict[str, str]]:
    """The rows of a chunk as COPY would read them, by column."""
    packed = convert(text.encode() if isinstance(text, str) else text, form)
    lines = packed.tables.get("formula", b"").decode().splitlines()
    return [dict(zip(NAMES, map(copied, line.split("\t")), strict=True)) for line in lines]


def copied(field: str) -> str:
    """A field as PostgreSQL reads it from COPY's text form."""
    for written, meant in (("\\\\", "\x00"), ("\\n", "\n"), ("\\t", "\t"), ("\\r", "\r"), ("\x00", "\\")):
        field = field.replace(written, meant)
    return field


def skipped(text: str | bytes, form: str = "formulas-latex-v2") -> dict[str, tuple[int, list[int]]]:
    packed = convert(text.encode() if isinstance(text, str) else text, form)
    return {reason: (n, packed.lines[reason]) for reason, n in packed.skipped.items()}


def as_csv(*records: tuple[str, ...]) -> str:
    """Records as Python's csv writes them, with its quotation marks."""
    file = io.StringIO(newline="")
    csv.writer(file, delimiter="\t", lineterminator="\n").writerows(records)
    return file.getvalue()


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (V1 + "1\t2\t3\ttitle\tx\n", "formulas-latex-v1"),
        (V2 + "1\t2\t3\ttitle\t9\tx\n", "formulas-latex-v2"),
        (V3 + "1\t2\t3\tcomment\t8\t7\t9\t\tx\n", "formulas-latex-v3"),
        ("1\t2\t3\ttitle\tx\n", "formulas-latex-v1"),
        ("1\t2\t3\tanswer\t9\tx\n", "formulas-latex-v2"),
        ("1\t2\t3\tcomment\t8\t7\t9\t\tx\n", "formulas-latex-v3"),
        ("\ufeff" + V1 + f"1\t2\t3\ttitle\t{SLT}\n", "formulas-slt-v1"),
        ("\ufeff" + V2 + f"1\t2\t3\ttitle\t9\t{OPT}\n", "formulas-opt-v2"),
        ("1\t2\t3\ttitle\t9\t<m:math><m:mrow/></m:math>\n", "formulas-slt-v2"),
        (V1.replace("post_id", "topic_id") + "q_1\tA.1\t3\ttitle\tx\n", "formulas-latex-v1-topics"),
        (
            '"id"\t"post_id"\t"thread_id"\t"type"\t"formula"\n"1"\t"2"\t"3"\t"title"\t"x"\n',
            "formulas-latex-v1",
        ),
        (V2.replace("\n", "\r\n") + "1\t2\t3\ttitle\t9\tx\r\n", "formulas-latex-v2"),
        (V2, "formulas-latex-v2"),
    ],
)
def test_index_is_detected_from_its_columns_and_formulas(text: str, form: str) -> None:
    assert form_of(text.encode(), "index.tsv").name == form
    assert Index.of(form) is not None


def test_index_of_empty_mathml_is_detected_from_its_name() -> None:
    text = (V1 + "1\t2\t3\ttitle\t<math/>\n").encode()

    assert form_of(text, "opt_7.tsv").name == "formulas-opt-v1"
    assert form_of(text, "7.tsv").name == "formulas-slt-v1"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "id\tpost\tformula\n1\t2\tx\n",
            "index.tsv, line 1: the columns are id post formula; a formula index has id post_id",
        ),
        ("formula_id\tvisual_id_v2\tsha1\n", "the columns are formula_id visual_id_v2 sha1"),
        ("1\t2\t3\n", "neither XML nor one JSON object per line nor a formula index"),
        ("1\t2\t3\ttitle\tx\ty\tz\n", "neither XML nor"),
        ("A.1\tQ0\td\t1\t2.5\trun\n", "neither XML nor"),
    ],
)
def test_other_files_are_not_an_index(text: str, message: str) -> None:
    with pytest.raises(BadFile) as refusal:
        form_of(text.encode(), "index.tsv")

    assert message in str(refusal.value)


def test_first_line_with_tabs_in_its_formula_does_not_decide() -> None:
    text = as_csv(
        ("1", "2", "3", "title", "a\tb"), ("2", "2", "3", "title", "x"), ("3", "2", "3", "title", "y")
    )

    assert form_of(text.encode(), "index.tsv").name == "formulas-latex-v1"


def test_each_version_gives_its_columns() -> None:
    first_version = rows("1\t2\t3\ttitle\tx^2\n", "formulas-latex-v1")
    two = rows("1\t2\t3\tquestion\t9\tx^2\n1b\t2\t3\tquestion\t\ty\n", "formulas-latex-v2")
    three = rows("1\t2\t3\tcomment\t44\t8\t9\tsplit in two\tx^2\n", "formulas-latex-v3")

    plain = {
        "code": "1",
        "post": "2",
        "thread": "3",
        "comment": "",
        "place": "0",
        "visual": "",
        "latex": "x^2",
    }
    none = {"is_visual_given": "f", "old_visual": "", "issue": ""}
    assert first_version == [plain | none]
    assert two[0] == plain | none | {"place": "1", "visual": "9", "is_visual_given": "t"}
    assert (two[1]["visual"], two[1]["is_visual_given"]) == ("", "f")
    kept = {
        "comment": "44",
        "visual": "9",
        "is_visual_given": "t",
        "old_visual": "8",
        "issue": "split in two",
    }
    assert three == [plain | kept | {"place": "3"}]


def test_mathml_has_a_table_of_its_own() -> None:
    text = as_csv(
        ("1", "2", "3", "title", SLT), ("2", "2", "3", "title", ""), ("3", "2", "3", "title", "<math/>")
    )

    packed = convert(text.encode(), "formulas-slt-v1")

    assert packed.tables["formula_mathml"].decode() == f"1\t{SLT}\n3\t<math/>\n"
    assert [row["latex"] for row in rows(text, "formulas-slt-v1")] == ["", "", ""]
    assert packed.counts == {"formulas": 3}


@pytest.mark.parametrize("name", ["latex", "slt", "opt"])
def test_index_of_topics_names_its_column_and_its_types_as_arqmath_does(name: str) -> None:
    text = f"id\ttopic_id\tthread_id\ttype\t{name}\nq_1\tA.1\t9\tbody\tx\nq_2\tA.1\t9\ttitle\ty\n"

    form = form_of(text.encode(), "Topics_Formulas.tsv")

    assert form.name == f"formulas-{name}-v1-topics"
    content = text[form.start :]
    assert [row["place"] for row in rows(content, form.name)] == ["1", "0"]
    assert skipped(content, form.name) == {}


def test_post_of_a_topics_formula_is_its_question() -> None:
    assert rows("q_1\tA.201\t3666538\ttitle\tx\n", "formulas-latex-v1-topics")[0]["post"] == "3666538"


@pytest.mark.parametrize(
    "formula",
    [
        '"P=""x""."',
        '"',
        '""',
        'a"',
        '"a',
        "a\tb",
        "a\nb",
        'say "yes"\n\tand no',
        "\\frac{a}{b}",
        "\\N",
        "\\.",
        "a\\",
        " a ",
        "é∑",
        "x\r\ny",
        "",
    ],
)
def test_records_that_csv_writes_are_read(formula: str) -> None:
    records = [
        ("1", "2", "3", "title", "9", "a"),
        ("2", "2", "3", "title", "9", formula),
        ("3", "2", "3", "title", "9", "b"),
    ]

    formulas = [row["latex"] for row in rows(as_csv(*records))]

    assert formulas == ["a", formula.replace("\r\n", "\n"), "b"]


@given(
    st.lists(
        st.text(
            st.characters(
                exclude_categories=["Cs"], exclude_characters="\x00\r\x85\u2028\u2029\x0b\x0c\x1c\x1d\x1e"
            ),
            max_size=12,
        ),
        min_size=1,
        max_size=8,
    )
)
def test_any_record_that_csv_writes_is_read(formulas: list[str]) -> None:
    records = [(str(i), "2", "3", "title", "9", formula) for i, formula in enumerate(formulas)]

    assert [row["latex"] for row in rows(as_csv(*records))] == formulas


@given(
    st.lists(
        st.sampled_from(['"', '""', "a", "<mi>", "\n", "\t", "\\", "1\t2\t3\ttitle\t9\tx\n"]), max_size=30
    )
)
def test_any_text_is_rows_or_skipped(parts: list[str]) -> None:
    packed = convert("".join(parts).encode(), "formulas-latex-v2")

    lines = packed.tables.get("formula", b"").decode().split("\n")[:-1]
    assert len(lines) == packed.counts.get("formulas", 0)
    assert all(line.count("\t") == len(NAMES) - 1 for line in lines)


def test_fast_path_and_slow_path_of_mathml_agree() -> None:
    """A quotation mark at the end of one row sends the chunk to the slow path."""
    records = [(str(i), "2", "3", "title", f'<math a="{i}"><mi>x</mi></math>') for i in range(50)]

    bulk = convert(as_csv(*records).encode(), "formulas-slt-v1").tables["formula_mathml"]
    slow = convert(as_csv(*records, ("50", "2", "3", "title", '"x"')).encode(), "formulas-slt-v1")

    assert slow.tables["formula_mathml"] == bulk + b'50\t"x"\n'


def test_stray_quotation_marks_are_part_of_the_formula() -> None:
    text = '1\t2\t3\ttitle\t9\ta "b\n2\t2\t3\ttitle\t9\t"x" = y\n3\t2\t3\ttitle\t9\tc"\n'

    assert [row["latex"] for row in rows(text)] == ['a "b', '"x" = y', 'c"']


def test_two_quotation_marks_in_an_unquoted_formula_stay_two() -> None:
    text = '1\t2\t3\ttitle\t9\ta""b\n2\t2\t3\ttitle\t9\t"c""d"\n'

    assert [row["latex"] for row in rows(text)] == ['a""b', 'c"d']


def test_quotation_that_is_never_closed_costs_one_row() -> None:
    text = '1\t2\t3\ttitle\t9\ta\n2\t2\t3\ttitle\t9\t"x\n3\t2\t3\ttitle\t9\tb\n4\t2\t3\ttitle\t9\t"cut off'

    assert [row["code"] for row in rows(text)] == ["1", "3"]
    assert skipped(text) == {NO_CLOSE: (2, [1, 3])}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2\t2\t3\ttitle\tx", NO_WIDTH),
        ("2\t2\t3\ttitle\t9\tx\ty", NO_WIDTH),
        ("garbage", NO_WIDTH),
        ("2\t2\t3\theadline\t9\tx", NO_TYPE),
        ("\t2\t3\ttitle\t9\tx", NO_NAME),
        ("2\t\t3\ttitle\t9\tx", NO_NAME),
        ("2\t2\t\ttitle\t9\tx", NO_NAME),
        ("2 2\t2\t3\ttitle\t9\tx", NO_NAME),
        (" 2\t2\t3\ttitle\t9\tx", NO_NAME),
        ("2 \t2\t3\ttitle\t9\tx", NO_NAME),
        (f"{'2' * 201}\t2\t3\ttitle\t9\tx", NO_NAME),
        ("2\t2\t3\ttitle\t9 9\tx", NO_VISUAL),
        (f"2\t2\t3\ttitle\t{'9' * 201}\tx", NO_VISUAL),
        (f"2\t2\t3\ttitle\t9\t{'x' * 1_000_001}", TOO_LONG),
        ("2\t2\t3\ttitle\t9\tx\x00y", NO_TEXT),
        (b"2\t2\t3\ttitle\t9\tx\xffy", NO_TEXT),
        ("3\t2\t3\ttitle\t9\tx", AGAIN),
    ],
)
def test_bad_row_is_skipped_with_its_reason_and_line(line: str | bytes, reason: str) -> None:
    bad = line.encode() if isinstance(line, str) else line
    text = b"1\t2\t3\ttitle\t9\ta\n\n" + bad + b"\n3\t2\t3\ttitle\t9\tb\n"

    assert [row["latex"] for row in rows(text)] == ["a", "b"]
    assert skipped(text) == {reason: (1, [2])}


def test_ids_may_be_any_characters_up_to_their_length() -> None:
    name = "é" * 200

    assert rows(f"Formel:{name[:190]}\t{name}\t3\ttitle\t9\tx\n")[0]["post"] == name


def test_of_each_reason_only_the_first_lines_are_named() -> None:
    assert skipped("x\n" * 10) == {NO_WIDTH: (10, [0, 1, 2])}


def chunks(content: bytes, size: int, position: int = 0) -> list[bytes]:
    return [chunk.data for chunk in Reader(io.BytesIO(content), "i.tsv", position=position, size=size)]


def many(n: int) -> bytes:
    """Rows with line ends in their formulas, also such as begin like rows do but for their type."""
    formulas = ["x", "a\nb", "q\t1\t2\tt\t\n3\t4\t5\tno\t6", 'y "z"\n']
    records = (as_csv((str(i), "2", "3", "answer", "9", formulas[i % 4])) for i in range(n))
    return (V2 + "".join(records)).encode()


@pytest.mark.parametrize("size", [100, 1000, 70_000])
def test_chunks_contain_complete_rows(size: int) -> None:
    content = many(4000)

    all_rows = [row for chunk in chunks(content, size) for row in rows(chunk)]

    assert [row["code"] for row in all_rows] == [str(i) for i in range(4000)]
    assert all_rows == rows(content.partition(b"\n")[2])


def test_import_continued_at_any_chunk_gives_the_same_rows() -> None:
    content = many(4000)
    whole = list(Reader(io.BytesIO(content), "i.tsv", size=20_000))
    assert len(whole) > 3

    for number, chunk in enumerate(whole):
        again = Reader(io.BytesIO(content), "i.tsv", position=chunk.end, size=20_000)
        assert b"".join(chunk.data for chunk in again) == b"".join(
            chunk.data for chunk in whole[number + 1 :]
        )


def test_chunks_know_their_first_line() -> None:
    content = many(4000)

    for chunk in Reader(io.BytesIO(content), "i.tsv", size=20_000):
        assert chunk.line == content[: chunk.start].count(b"\n") + 1


def test_endless_line_is_left_out() -> None:
    content = V2.encode() + b"1\t2\t3\ttitle\t9\t" + b"x" * 15_000_000 + b"\n2\t2\t3\ttitle\t9\ty\n"

    chunk_list = list(Reader(io.BytesIO(content), "i.tsv"))

    assert sum(chunk.n_too_long for chunk in chunk_list) == 1
    assert [row["latex"] for chunk in chunk_list for row in rows(chunk.data)] == ["y"]


@pytest.mark.parametrize(
    ("name", "form", "n"),
    [
        ("formula_index_v2_sample.tsv", "formulas-latex-v2", 1000),
        ("2021_formulas_latex.tsv", "formulas-latex-v1-topics", 843),
        ("2021_formulas_slt.tsv", "formulas-slt-v1-topics", 843),
    ],
)
def test_real_index_is_read_as_csv_reads_it(data: Path, name: str, form: str, n: int) -> None:
    content = (data / "arqmath" / "formulas" / name).read_bytes()
    with (data / "arqmath" / "formulas" / name).open(newline="") as file:
        _, *expected = csv.reader(file, delimiter="\t")

    reader = Reader(io.BytesIO(content), name)
    packed = [convert(chunk.data, reader.form.name) for chunk in reader]

    assert reader.form.name == form
    assert sum(batch.counts["formulas"] for batch in packed) == n == len(expected)
    assert not any(batch.skipped for batch in packed)
    table = "formula_mathml" if "slt" in form else "formula"
    lines = b"".join(batch.tables[table] for batch in packed).decode().split("\n")[:-1]
    assert [copied(line.rpartition("\t")[2]) for line in lines] == [row[-1] for row in expected]


def test_map_of_ids_is_not_an_index(data: Path) -> None:
    with gzip.open(data / "arqmath" / "formulas" / "formula_id_visual_id.tsv.gz") as file:
        head = file.read(5000)

    with pytest.raises(BadFile, match="line 1: the columns are formula_id visual_id_v2"):
        form_of(head, "formula_id_visual_id.tsv.gz")
