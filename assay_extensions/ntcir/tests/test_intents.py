"""D-nDCG and D♯-nDCG: values by hand."""

from math import log2

import pytest

from assay.errors import InputError
from assay.measures.scores import score_run
from assay.protocols.measures import parse_measures
from tests.assay.measures.test_other_qrels import one_topic, read

QRELS = "1 1 a 3\n1 2 a 1\n1 2 b 2\n1 3 c 1\n1 3 d 0\n"  # global gains: a 4/3, b 2/3, c 1/3
IDEAL = 4 + 2 / log2(3) + 1 / 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("D_nDCG", (2 + 4 / 2 + 1 / log2(5)) / IDEAL),
        ("D_nDCG@3", (2 + 4 / 2) / IDEAL),
        ("D_nDCG@1", 2 / 4),
        ("D_nDCG@2'", (2 + 4 / log2(3)) / (4 + 2 / log2(3))),
        ("I_rec@3", 2 / 3),
        ("Dsharp_nDCG@3", 0.5 * 2 / 3 + 0.5 * (2 + 4 / 2) / IDEAL),
        ("Dsharp_nDCG(gamma=0.2)@1", 0.2 * 1 / 3 + 0.8 * 2 / 4),
    ],
)
def test_values_by_hand(name: str, value: float) -> None:
    scores = score_run(one_topic("b x a c"), read(QRELS, "subtopics"), parse_measures([name]))

    assert scores.values[0, 0] == pytest.approx(value, abs=1e-12)


def test_missing_topic_and_a_topic_without_a_relevant_document_have_0() -> None:
    judged = read(f"{QRELS}2 1 a 0\n", "subtopics")

    scores = score_run(one_topic("x"), judged, parse_measures(["D_nDCG@3", "Dsharp_nDCG"]))

    assert scores.values.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_name_of_another_tool_gets_the_name_here() -> None:
    with pytest.raises(InputError, match=r"did you mean Dsharp_nDCG@10\?"):
        parse_measures(["D#-nDCG@10"])
