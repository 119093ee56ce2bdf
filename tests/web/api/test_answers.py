"""Answers that are made from types."""

from typing import Any, NamedTuple

import pytest

from accounts.models import User
from jobs.models import Job
from web.api.answers import answer


class Part(NamedTuple):
    """A part. It has an address on pages."""

    n: int
    address: str = ""


class Whole(NamedTuple):
    parts: list[Part]
    best: float | None
    sizes: dict[str, int]
    odd: object = None

    @property
    def n_parts(self) -> int:
        return len(self.parts)


class Watched(NamedTuple):
    """Work that may have begun."""

    job: Job | None


def test_answer_has_the_named_fields_and_properties_with_their_types() -> None:
    part: Any = answer(Part, "Part", "n")
    whole: Any = answer(Whole, "Whole", "n_parts parts mean=best sizes", mean="Of all.")

    shown = whole(Whole([Part(1, "/secret/")], None, {"a": 2}))

    assert shown.data == {"n_parts": 1, "parts": [{"n": 1}], "mean": None, "sizes": {"a": 2}}
    assert (part.__name__, part.__doc__) == ("PartSerializer", "A part.")
    fields = shown.fields
    assert (fields["mean"].allow_null, fields["mean"].help_text) == (True, "Of all.")
    assert not any(field.read_only or not field.required for field in fields.values())
    with pytest.raises(AttributeError):
        part(object()).data  # noqa: B018  # what is computed


def test_answer_of_a_model_has_fields_of_other_models_and_null_where_there_is_none() -> None:
    work: Any = answer(
        Job, "Work", "kind n_done=done by=created_by.username by_id=created_by_id", "Work.", n_done="Units."
    )
    watched: Any = answer(Watched, "Watched", "by=job.created_by.username")
    job = Job(kind="test", done=2, created_by=User(pk=7, username="ada"))

    shown = work(job)

    assert shown.data == {"kind": "test", "n_done": 2, "by": "ada", "by_id": 7}
    assert (shown.fields["n_done"].help_text, work.__doc__) == ("Units.", "Work.")
    assert work(Job(kind="test")).data["by"] is None
    assert (watched(Watched(job)).data, watched(Watched(None)).data) == ({"by": "ada"}, {"by": None})


@pytest.mark.parametrize(
    ("fields", "meanings", "problem"),
    [
        ("odd", {}, "Whole.odd cannot be answered"),
        ("n_parts missing", {}, "Whole.missing cannot be answered"),
        ("n=best.missing", {}, "Whole.best.missing cannot be answered"),
        ("sizes", {"best": "The best."}, "Whole has no best"),
    ],
)
def test_unknown_field_or_type_is_an_error_at_import(fields: str, meanings: Any, problem: str) -> None:
    with pytest.raises(TypeError, match=problem):
        answer(Whole, "Whole", fields, **meanings)
