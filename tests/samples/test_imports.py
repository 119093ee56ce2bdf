"""The sample files that a collection and a track are made from are read without a complaint."""

import pytest

from assay import samples
from assay.formats.documents.jsonl import convert
from assay.formats.formulas import read_files
from assay.formats.topics.reader import read_labels, read_topics
from tests.samples.conftest import lines_of

ANSWER_TOPICS = ["A.1", "A.2", "A.3", "A.4", "A.5"]


def test_documents_are_questions_and_answers() -> None:
    batch = convert(samples.path("documents.jsonl").read_bytes())

    assert batch.counts == {"questions": 8, "answers": 21}
    assert not batch.skipped


@pytest.mark.parametrize(
    ("name", "codes"),
    [("topics.xml", ANSWER_TOPICS), ("topics.jsonl", ANSWER_TOPICS), ("formula-topics.xml", ["B.1", "B.2"])],
)
def test_topics_have_a_title_and_a_question_with_a_formula(name: str, codes: list[str]) -> None:
    topics = read_topics(samples.path(name).read_bytes(), name)

    assert [topic.code for topic in topics] == codes
    assert all(topic.title and "data-formula-id" in topic.body for topic in topics)


def test_both_forms_of_the_topics_have_the_same_text() -> None:
    xml, jsonl = (
        read_topics(samples.path(name).read_bytes(), name) for name in ("topics.xml", "topics.jsonl")
    )

    assert [(topic.title, topic.body, topic.tags) for topic in xml] == [
        (topic.title, topic.body, topic.tags) for topic in jsonl
    ]


def test_formula_topics_name_a_formula_of_their_question() -> None:
    topics = read_topics(samples.path("formula-topics.xml").read_bytes(), "formula-topics.xml")

    for topic in topics:
        assert f'data-formula-id="{topic.formula_id}"' in topic.body
        assert f">{topic.latex}</span>" in topic.body


def test_labels_are_those_of_the_topics() -> None:
    topics = read_topics(samples.path("topics.jsonl").read_bytes(), "topics.jsonl")

    labels = read_labels(samples.path("labels.csv").read_bytes(), "labels.csv")

    assert labels == {topic.code: topic.labels for topic in topics}


@pytest.mark.parametrize("form", ["latex", "slt", "opt"])
def test_no_row_of_a_formula_index_is_skipped(form: str) -> None:
    formulas, skipped = read_files([samples.path(f"formulas-{form}.tsv")])

    assert len(formulas) == 50
    assert not skipped


@pytest.mark.parametrize("run", ["trees", "strings", "lookup"])
def test_formula_runs_name_formulas_of_the_index(run: str) -> None:
    formulas, _ = read_files([samples.path("formulas-latex.tsv")])
    known = set(formulas.formula.tolist())
    column = 2 if run == "lookup" else 1
    suffix = "txt" if run == "lookup" else "tsv"

    names = {line[column].encode() for line in lines_of(f"runs/{run}.{suffix}")}

    assert names <= known
