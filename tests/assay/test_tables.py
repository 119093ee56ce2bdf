import json

from assay.measures.scores import ScoreRow, as_json
from assay.tables import as_tsv


def test_cells_of_tsv_are_unchanged() -> None:
    assert as_tsv(["run", "value"], [['=1+"1"', "0.5000"]]) == 'run\tvalue\n=1+"1"\t0.5000\n'


def test_json_has_every_digit_and_any_name() -> None:
    text = as_json([ScoreRow('né"w', "all", "nDCG'", 0.25), ScoreRow("b", "A.1", "AP", 1 / 3)])

    assert json.loads(text) == [
        {"run": 'né"w', "topic": "all", "measure": "nDCG'", "value": 0.25},
        {"run": "b", "topic": "A.1", "measure": "AP", "value": 1 / 3},
    ]
