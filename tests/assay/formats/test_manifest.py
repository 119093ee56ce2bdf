"""Manifests: a row per run of a pool."""

import ast
import csv
import json
from io import StringIO
from pathlib import Path

import pytest

from assay.errors import InputError, InputWarning
from assay.formats.manifest import read_manifest
from assay.formats.spreadsheet import as_csv, csv_lines, tsv_line, tsv_lines
from assay.measures.scores import ScoreRow, as_json
from assay.protocols.loader import load_protocol
from assay.tables import as_tsv
from tests.helpers.pool_files import write_run_files

PROTOCOL = load_protocol("arqmath-2020-task1")
P = ["--protocol", "arqmath-2020-task1"]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_run_files(tmp_path)


HEADER = "file,team,tag,kind,pooled_as\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: expected the columns file, team, tag, kind"),
        ("file,team,tag\n", "line 1: expected the columns"),
        ("file,team,tag,kind,color\n", "line 1: expected the columns"),
        (HEADER, "the manifest lists no runs"),
        (HEADER + "missing.tsv,t,r,primary,\n", "line 2: there is no file missing.tsv"),
        (HEADER + "good.tsv,t,r,first,\n", "line 2: kind 'first' is not one of primary, alternate, baseline"),
        (HEADER + "good.tsv,t,,primary,\n", "line 2: tag is empty"),
        (
            HEADER + "good.tsv,t,r,primary,alternate\n",
            "line 2: pooled_as 'alternate': use primary or alternate, and only for baseline runs",
        ),
        (HEADER + "good.tsv,t,r,primary,,,x\n", "line 2: expected 5 columns as in the header, got 7"),
        (HEADER + "good.tsv,t\n", "line 2: expected 5 columns as in the header, got 2"),
        (HEADER + 'good.tsv,"t"x,r,primary,\n', "line 2: "),
        (HEADER + "good.tsv,t,r,primary,\nother.tsv,t,r,primary,\n", "two runs have the tag r"),
    ],
)
def test_errors_of_a_manifest_name_the_line(files: Path, text: str, complaint: str) -> None:
    (files / "m.csv").write_text(text)

    with pytest.raises(InputError) as error:
        read_manifest(files / "m.csv", PROTOCOL)

    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "text",
    [
        "File,Team,Tag,Kind\r\nsub\\good.tsv,Owls,r,Primary\r\n",
        "sep=;\r\n File ; Team ; Tag ; Kind \r\nsub/good.tsv;Owls;r;primary\r\n",
        "# runs of 2026\nfile\tteam\ttag\tkind\t\t\nsub/good.tsv\tOwls\tr\tprimary\t\t\n\t\t\t\n",
    ],
)
def test_manifests_of_spreadsheets_are_read(files: Path, text: str) -> None:
    (files / "sub").mkdir()
    (files / "sub" / "good.tsv").write_bytes((files / "good.tsv").read_bytes())
    (files / "m.csv").write_text(text)

    [run] = read_manifest(files / "m.csv", PROTOCOL)

    assert (run.file, run.team, run.tag, run.kind) == (files / "sub" / "good.tsv", "Owls", "r", "primary")


def test_manifest_with_a_byte_order_mark_and_spaces_is_read(files: Path) -> None:
    (files / "m.csv").write_bytes(
        b"\xef\xbb\xbffile, team, tag, kind, pooled_as\r\ngood.tsv, one, r, baseline, alternate\r\n"
    )

    (run,) = read_manifest(files / "m.csv", PROTOCOL)

    assert (run.file, run.team, run.tag, run.kind, run.pooled_as) == (
        files / "good.tsv",
        "one",
        "r",
        "baseline",
        "alternate",
    )


def test_manifest_in_latin_1_is_read(files: Path) -> None:
    (files / "m.csv").write_bytes("file,team,tag,kind\ngood.tsv,équipe,r,primary\n".encode("latin-1"))

    with pytest.warns(InputWarning, match="line 2 is not UTF-8 and is read as Windows-1252"):
        [run] = read_manifest(files / "m.csv", PROTOCOL)

    assert run.team == "équipe"


def test_apostrophe_before_a_spreadsheet_formula_is_taken_away(files: Path) -> None:
    (files / "m.csv").write_text("file,team,tag,kind,description\ngood.tsv,'=one,r,primary,'-x\n")

    (run,) = read_manifest(files / "m.csv", PROTOCOL)

    assert (run.team, run.description) == ("=one", "-x")


ROOT = Path(__file__).resolve().parents[3]
WRITER = ROOT / "assay" / "formats" / "spreadsheet.py"
NO_PRODUCT = {"tests", "benchmarks", "maintenance", "node_modules", "build"}


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\tx", "\rx"])
def test_csv_contains_no_spreadsheet_formula(text: str) -> None:
    line = list(csv.reader(StringIO(as_csv(["run"], [[text]]), newline="")))[1]

    assert line == [f"'{text}"]


@pytest.mark.parametrize("text", ["0.5", "-1.25", "run 1", "a=b", 'with "quotes", and commas'])
def test_other_cells_of_csv_are_unchanged(text: str) -> None:
    assert list(csv.reader(StringIO(as_csv(["run"], [[text]]))))[1] == [text]


def test_equal_values_of_other_types_keep_their_form() -> None:
    assert as_csv(["a", "b", "c"], [[1, 1.0, True], [None, "", 0]]) == "a,b,c\r\n1,1.0,True\r\n,,0\r\n"


def test_long_tables_are_written_in_parts() -> None:
    parts = list(csv_lines(["n"], ([str(n)] for n in range(5_000))))

    assert len(parts) == 4
    assert "".join(parts).split() == ["n", *map(str, range(5_000))]


def test_tsv_for_programs_is_quoted_and_otherwise_unchanged() -> None:
    assert list(tsv_lines([["=x", 'say "a"'], ["-1", 2]])) == ['=x\t"say ""a"""\n-1\t2\n']
    assert tsv_line(["a\tb", ""]) == '"a\tb"\t'


def test_only_this_module_writes_csv() -> None:
    sources = (
        path
        for path in ROOT.rglob("*.py")
        if path != WRITER
        and not any(part in NO_PRODUCT or part[0] == "." for part in path.relative_to(ROOT).parts)
    )
    writers = [
        str(path.relative_to(ROOT))
        for path in sources
        if "csv" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr in {"writer", "DictWriter"}
        if isinstance(node.value, ast.Name) and node.value.id == "csv"
    ]

    assert writers == []


def test_cells_of_tsv_are_unchanged() -> None:
    assert as_tsv(["run", "value"], [['=1+"1"', "0.5000"]]) == 'run\tvalue\n=1+"1"\t0.5000\n'


def test_json_has_every_digit_and_any_name() -> None:
    text = as_json([ScoreRow('né"w', "all", "nDCG'", 0.25), ScoreRow("b", "A.1", "AP", 1 / 3)])

    assert json.loads(text) == [
        {"run": 'né"w', "topic": "all", "measure": "nDCG'", "value": 0.25},
        {"run": "b", "topic": "A.1", "measure": "AP", "value": 1 / 3},
    ]
