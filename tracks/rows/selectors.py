"""The rows of a track, and how a form shows them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.utils.safestring import SafeString

from assay.html.form import form_parts
from assay.protocols.schema import FormRules
from corpus.threads.selectors import safe_html
from tracks.models import Row, Topic, Track
from web.pages import numbers_in

PER_PAGE = 50


@dataclass(frozen=True)
class ShownPart:
    """A part of the page of a row; `question` is the question that follows it, as its page needs it, or None."""

    html: SafeString
    question: Any = None


@dataclass(frozen=True)
class RowsPage:
    """The rows of a track and one of them as assessors see it. `parts` are those of its page, or it has a frame.

    `table` has the cells of each row.
    """

    track: Track
    form: FormRules
    rows: "Page[Row]"
    table: list[tuple[Row, list[str]]]
    shown: Row | None
    parts: list[ShownPart]


def rows_of(track: Track) -> QuerySet[Row]:
    return Row.objects.filter(topic__track=track).select_related("topic").order_by("pk")


def values_of(topic: Topic, docno: str) -> dict[str, str]:
    """The values of the placeholders of a row; only its topic and docno if the track does not have it. One query."""
    row = Row.objects.filter(topic=topic, docno=docno).first()
    return values(row, topic) if row else {"topic": topic.code, "docno": docno}


def values(row: Row, topic: Topic) -> dict[str, str]:
    return {**row.fields, "topic": topic.code, "docno": row.docno}


def parts_of(
    form: FormRules,
    given: Mapping[str, str],
    questions: Mapping[str, object] | None = None,
    marked: Collection[str] = (),
) -> list[ShownPart]:
    """The page of a row. A question that is not among `questions` has no place. Texts of `marked` can be marked."""
    known, parts = questions or {}, form_parts(form.html, given, marked)
    return [ShownPart(safe_html(part.html), known.get(part.question)) for part in parts]


def rows_page(track: Track, form: FormRules, number: str | None, row_id: str) -> RowsPage:
    """A page of the rows, with the row with an id shown, or the first of the page."""
    rows = Paginator(rows_of(track), PER_PAGE).get_page(number)
    chosen = rows_of(track).filter(pk__in=numbers_in([row_id])).first()
    shown = chosen or next(iter(rows), None)
    parts = [] if shown is None or form.frame else parts_of(form, values(shown, shown.topic))
    table = [(row, [str(row.fields.get(name, "")) for name in form.fields]) for row in rows]
    return RowsPage(track, form, rows, table, shown, parts)
