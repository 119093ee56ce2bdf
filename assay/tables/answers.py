"""Columns for the answers to the questions of a protocol about each run, in tables of papers and of leaderboards."""

from collections.abc import Mapping

from assay.html.sanitize import beginning
from assay.protocols.description import label_title
from assay.protocols.schema import RunQuestion
from assay.tables.paper import MOST_LETTERS, Column


def answer_columns(questions: Mapping[str, RunQuestion]) -> list[Column]:
    """A column for the answers to each question about runs; `explained` says for the caption what it is."""
    return [Column(capitalized(label_title(key))) for key in questions]


def answer_cells(questions: Mapping[str, RunQuestion], answers: Mapping[str, str]) -> list[str]:
    """The beginnings of the answers about a run."""
    return [beginning(" ".join(answers.get(key, "").split()), MOST_LETTERS) for key in questions]


def explained(questions: Mapping[str, RunQuestion]) -> str:
    """The questions of the columns of answers, for a caption; they end with a space."""
    return "".join(
        f"{capitalized(label_title(key))}: {question.label}{' ' if question.label.endswith(('?', '.')) else '. '}"
        for key, question in questions.items()
    )


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
