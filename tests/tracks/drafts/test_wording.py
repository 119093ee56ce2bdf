"""Messages of the loader in the words of the form, each at its field."""

from itertools import product

import lxml.html
import pytest
from django.test import Client
from django.urls import reverse

from tests.helpers.factories import make_organizer, make_protocol
from tracks.drafts.changes import Change, changed
from tracks.drafts.checks import check
from tracks.drafts.fields import id_of
from tracks.drafts.schema import section_of
from tracks.drafts.selectors import edit_page
from tracks.drafts.wording import in_form_words
from tracks.models import ProtocolDraft

SPAN = [Change("judging.question", "add", {"key": "q", "label": "Which?", "kind": "span"})]
YES_NO = [
    Change("judging.question", "add", {"key": "q", "label": "Good?", "kind": "yes-no"}),
    Change("judging.question[1].choice", "add", {"key": "a", "label": "A"}),
]
MISTAKES = {  # what is changed, the field at which the message is, and the message
    "kind of a question": (
        SPAN,
        "judging.question[1].choice",
        "a question of the kind “marked parts of a text” needs at least one choice, got 0",
    ),
    "choices of yes or no": (
        YES_NO,
        "judging.question[1].choice",
        "has no effect on “yes or no”; use “one of several choices”, “any of several choices”, “marked parts",
    ),
    "empty title": ([Change("title", "set", "")], "title", "empty; give a title"),
    "depth": (
        [Change("runs.kind[1].depth", "set", 2000)],
        "runs.kind[1].depth",
        "2000 is below 1 or above “Ranks per topic at most”, 1000",
    ),
    "line of a list": (
        [Change("scoring.measures", "set", ["nDCG@10", "charP@5"])],
        "scoring.measures",
        "line 2: charP@5 counts characters of citations; it needs “What is judged” in Name and source = “passages”",
    ),
    "two keys": (
        [Change("runs.columns.order", "set", ["topic", "docno", "rank"])],
        "runs.columns",
        "this describes the format “columns that the protocol describes” of “Formats”; use both, or neither",
    ),
    "switch": (
        [Change("runs.kind[1].oracles", "set", ["x"])],
        "runs.kind[1].oracles",
        "the kind is not one of baselines; add “Baselines” = “yes”",
    ),
    "entry of a table of words": (
        [Change("published", "set", {"units": "many"})],
        "published",
        "units: expected a number, got 'many'",
    ),
}


@pytest.mark.django_db
@pytest.mark.parametrize(("changes", "field", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistake_is_at_its_field_in_the_words_of_the_form_or_of_the_file(
    client: Client, changes: list[Change], field: str, message: str
) -> None:
    client.force_login(make_organizer())
    address = begin(client)
    draft = ProtocolDraft.objects.get()
    for each in changes:
        draft.text = changed(draft.text, each)
    draft.save()
    problem = check(draft.text).errors[0]

    section = section_of(field).name
    page, with_file = (client.get(address, {"section": section, "view": view}) for view in ("words", "toml"))
    preview = client.get(f"{address}preview/")

    tree = lxml.html.document_fromstring(page.content)
    assert words_of(tree.get_element_by_id(f"n-{id_of(field)}")).startswith(message)
    assert f": {message}" in words_of(tree.get_element_by_id("foot"))
    foot = words_of(lxml.html.document_fromstring(with_file.content).get_element_by_id("foot"))
    assert f"{problem.key}: {problem.message}" in foot
    assert preview.headers["Location"] == f"{address}?section={section}&view=words#{id_of(field)}"


def begin(client: Client) -> str:
    make_protocol("trec-adhoc")
    return client.post(reverse("tracks:new_protocol"), {"base": "trec-adhoc"}).headers["Location"]


def words_of(part: lxml.html.HtmlElement) -> str:
    return " ".join(part.text_content().split())


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("judging.question[1].key", "'text' is used by two questions"),
        ("judging.question[1].after", "'none' is not a choice of errors; use term, number"),
        ("runs.kind[3].pooled_as", "'baseline' is not a kind with a depth; use primary, alternate"),
    ],
)
def test_own_words_of_a_protocol_stay(path: str, text: str) -> None:
    assert in_form_words(text, path) == text


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("slug", "'' is not a slug; use small letters", "to fill in with a slug; use small letters"),
        ("runs.kind[1].key", "'' is not accepted; use small letters", "to fill in; use small letters"),
        (
            "judging.choice[1].shortcut",
            "' ' is not one key, such as 1 or x",
            "to fill in with one key, such as 1 or x",
        ),
    ],
)
def test_empty_value_is_to_fill_in(path: str, text: str, message: str) -> None:
    assert in_form_words(text, path) == message


@pytest.mark.django_db
def test_what_is_missing_is_named_by_its_fields(client: Client) -> None:
    client.force_login(make_organizer())
    address = client.post(reverse("tracks:new_protocol"), {"empty": "true"}).headers["Location"]

    page = edit_page(ProtocolDraft.objects.get(), "", "")

    assert client.get(address).status_code == 200
    assert [error.words for error in page.errors] == [
        "Name and source, Title",
        "Name and source, Source",
        "Name and source, What is judged",
        "Pool, How ranks become a pool",
        "Judging, Judging page",
    ]


@pytest.mark.django_db
def test_value_of_any_type_is_a_mistake_and_no_failure(client: Client) -> None:
    client.force_login(make_organizer())
    address = begin(client)
    keys = ("scoring.measures", "runs.kind", "judging.question", "topics.labels", "judging.grade")

    for key, value in product(keys, ("5", "[[1]]", "{ a = 1 }", "[{ kind = [], choice = 1 }]")):
        text = f"{key} = {value}\n"
        ProtocolDraft.objects.update(text=text, good=text)
        for section in ("questions", section_of(key).name):
            assert client.get(address, {"section": section}).status_code == 200, text
        assert edit_page(ProtocolDraft.objects.get(), "", "").errors, text
