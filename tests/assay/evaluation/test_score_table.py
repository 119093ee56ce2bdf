import csv
import json
from io import StringIO

import pytest

from assay.evaluation.score_table import ScoreRow, as_json, as_tsv
from assay.formats.spreadsheet import as_csv


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-1+cmd|' /C calc'!A0", "@SUM(A1)", "\tx", "\rx"])
def test_csv_contains_no_spreadsheet_formula(text: str) -> None:
    line = list(csv.reader(StringIO(as_csv(["run"], [[text]]), newline="")))[1]

    assert line == [f"'{text}"]


@pytest.mark.parametrize("text", ["0.5", "-1.25", "run 1", "a=b", 'with "quotes", and commas'])
def test_other_cells_of_csv_are_unchanged(text: str) -> None:
    assert list(csv.reader(StringIO(as_csv(["run"], [[text]]))))[1] == [text]


def test_cells_of_tsv_are_unchanged() -> None:
    assert as_tsv(["run", "value"], [['=1+"1"', "0.5000"]]) == 'run\tvalue\n=1+"1"\t0.5000\n'


def test_json_has_every_digit_and_any_name() -> None:
    text = as_json([ScoreRow('né"w', "all", "nDCG'", 0.25), ScoreRow("b", "A.1", "AP", 1 / 3)])

    assert json.loads(text) == [
        {"run": 'né"w', "topic": "all", "measure": "nDCG'", "value": 0.25},
        {"run": "b", "topic": "A.1", "measure": "AP", "value": 1 / 3},
    ]
