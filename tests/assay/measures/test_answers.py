"""Measures of generated answers: worked values, nuggetizer's formulas, and units without a grade."""

from collections.abc import Mapping
from io import BytesIO
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InputError, NotMeasurable
from assay.formats.qrels.reader import QrelsError, QrelsForm, format_qrels, parse_qrels
from assay.formats.runs.columns import RunColumns
from assay.formats.runs.reader import check_run
from assay.measures.answers import unassigned
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_run
from assay.protocols.loader import load_protocol
from assay.protocols.measures import parse_measure, parse_measures
from tests.helpers.answer_runs import OWLS, Sentences, answer_run, citation, nugget
from tests.helpers.real_files import make_run

PROTOCOL = load_protocol("trec-rag-2024")
VALUES = [0.0, 0.5, 1.0]  # of the grades
NUGGETS = ["V", "A", "W", "V_strict", "A_strict", "W_strict"]
SUPPORT = ["SupportP", "SupportR", "SupportF"]
LIST = """
T1 vital nugget:-:sing -1
T1 vital nugget:-:nest -1
T1 okay nugget:-:mice -1
T2 vital nugget:-:air -1
T3 vital nugget:-:none -1
"""
ASSIGNED = LIST + (
    f"T1 vital {nugget('T1', 'sing')} 2\nT1 vital {nugget('T1', 'nest')} 1\nT1 okay {nugget('T1', 'mice')} 2\n"
    f"T2 vital {nugget('T2', 'air')} 0\n"
)
CITED = (
    f"T1 - {citation('Owls sing at night.', 'd1')} 2\nT1 - {citation('They eat mice.', 'd3')} 1\n"
    f"T2 - {citation('Swifts sleep in the air.', 'd4')} 2\n"
)


def columns_of(answers: Mapping[str, Sentences] = OWLS) -> RunColumns:
    columns = check_run(BytesIO(answer_run(answers)), protocol=PROTOCOL, name="run").columns
    assert columns is not None
    return columns


def judged(text: str) -> JudgedDocuments:
    return JudgedDocuments(parse_qrels(text.encode(), form=QrelsForm.for_kind("nuggets")))


def scores(qrels: str, names: list[str], answers: Mapping[str, Sentences] = OWLS) -> RunScores:
    return score_run(columns_of(answers), judged(qrels), parse_measures(names))


def test_nuggets_count_as_in_the_worked_example_of_the_documentation() -> None:
    values = scores(ASSIGNED, NUGGETS).values

    assert values[0] == pytest.approx([1.5 / 2, 2.5 / 3, 2 / 2.5, 1 / 2, 2 / 3, 1.5 / 2.5])
    assert values[1:].tolist() == [[0.0] * 6] * 2  # nothing supported; no answer


def test_support_is_over_cited_and_over_all_sentences() -> None:
    values = scores(LIST + CITED, SUPPORT).values

    assert values[0] == pytest.approx([0.75, 0.5, 0.6])
    assert values[1] == pytest.approx([1, 1, 1])
    assert values[2].tolist() == [0, 0, 0]


def test_sentence_that_is_written_twice_counts_twice() -> None:
    twice = {"T1": [*OWLS["T1"], OWLS["T1"][0]]}

    values = scores(LIST + CITED, SUPPORT, twice).values

    assert values[0] == pytest.approx([2.5 / 3, 2.5 / 4, 2 * 2.5 / 7])


def test_several_citations_of_a_sentence_count_their_mean() -> None:
    second = f"T1 - {citation('Owls sing at night.', 'd2')} 0\n"

    values = scores(LIST + CITED + second, ["SupportP(citations=2)"]).values

    assert values[0] == pytest.approx([(0.5 + 0.5) / 2])


def test_mean_is_over_all_topics_with_nuggets() -> None:
    assert scores(ASSIGNED, ["A"]).means("judged") == pytest.approx([2.5 / 9])
    assert scores(ASSIGNED, ["A"]).means("common") == pytest.approx([2.5 / 6])


@pytest.mark.parametrize(
    ("qrels", "name", "unit"),
    [
        (LIST, "V", nugget("T1", "sing")),
        (
            ASSIGNED.replace(f"{nugget('T1', 'mice')} 2", f"{nugget('T1', 'mice')} -1"),
            "A",
            nugget("T1", "mice"),
        ),
        (LIST + CITED.replace(" 1\n", " -1\n"), "SupportP", citation("They eat mice.", "d3")),
    ],
    ids=["not assigned", "failed", "citation"],
)
def test_unit_without_a_grade_stops_the_scoring(qrels: str, name: str, unit: str) -> None:
    with pytest.raises(NotMeasurable, match=f"{unit} of topic T1"):
        scores(qrels, [name])
    assert ("T1", unit) in unassigned(columns_of(), judged(qrels))


@pytest.mark.parametrize("name", ["V", "SupportP"])
def test_run_of_documents_is_refused(name: str) -> None:
    run = make_run([("T1", "d1", 1.0)])

    with pytest.raises(NotMeasurable, match="these measures need generated answers"):
        score_run(run, judged(ASSIGNED), parse_measures([name]))


def test_nugget_that_is_vital_and_okay_is_refused() -> None:
    with pytest.raises(InputError, match="sing of topic T1 is both vital and okay"):
        scores(ASSIGNED + "T1 okay nugget:x:sing 1\n", ["V"])


def test_wrong_importance_is_named_with_its_line() -> None:
    with pytest.raises(
        QrelsError, match="line 1: 'high' is not the importance of a nugget; use vital or okay"
    ):
        judged("T1 high nugget:-:sing -1")


def test_qrels_are_written_as_they_were_read() -> None:
    text = format_qrels(parse_qrels((ASSIGNED + CITED).encode(), form=QrelsForm.for_kind("nuggets")))

    assert format_qrels(parse_qrels(text, form=QrelsForm.for_kind("nuggets"))) == text


def test_names_of_nuggetizer_are_accepted() -> None:
    names = ["vital_score", "all_score", "strict_vital_score", "strict_all_score"]

    assert [str(parse_measure(name)) for name in names] == ["V", "A", "V_strict", "A_strict"]


def of_nuggetizer(nuggets: list[tuple[bool, int]]) -> list[float]:
    """Vital, all, strict vital and strict all score, by the formulas of nuggetizer's metrics.py."""

    def score(values: list[float]) -> float:
        return mean(values) if values else 0.0

    vital = [grade for is_vital, grade in nuggets if is_vital]
    every = [grade for _, grade in nuggets]
    return [
        score([VALUES[grade] for grade in vital]),
        score([VALUES[grade] for grade in every]),
        score([float(grade == 2) for grade in vital]),
        score([float(grade == 2) for grade in every]),
    ]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=30))
@settings(max_examples=50, deadline=None)
def test_values_are_those_of_nuggetizer(nuggets: list[tuple[bool, int]]) -> None:
    lines = "".join(
        f"T2 {'vital' if is_vital else 'okay'} {nugget('T2', str(n))} {grade}\n"
        for n, (is_vital, grade) in enumerate(nuggets)
    )

    values = scores(lines, ["V", "A", "V_strict", "A_strict"]).values

    assert np.allclose(values[0], of_nuggetizer(nuggets), rtol=0, atol=1e-12)
