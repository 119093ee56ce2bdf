"""The editor of protocols."""

import html
import re
import tomllib
from collections import defaultdict

import lxml.html
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import User
from assay import samples
from assay.protocols.description import facts
from assay.protocols.loader import load_protocol, shipped_slugs
from tests.helpers.factories import make_organizer, make_protocol, make_user
from tracks.drafts.forms import MAX_BYTES
from tracks.drafts.schema import SECTIONS
from tracks.drafts.selectors import differences
from tracks.models import ProtocolDraft

pytestmark = pytest.mark.django_db


@pytest.fixture
def organizer(client: Client) -> User:
    user = make_organizer()
    client.force_login(user)
    return user


@pytest.mark.parametrize("slug", shipped_slugs())
def test_every_shipped_protocol_opens_in_each_section_and_in_the_preview(
    client: Client, organizer: User, slug: str
) -> None:
    address = begin(client, slug)

    pages = [client.get(address, {"section": name, "view": "toml"}) for name in SECTIONS]
    preview = client.get(f"{address}preview/")
    values = {name: value for page in pages for name, value in values_of(page).items()}
    update = client.post(f"{address}change/", values)  # of all sections, without a change

    assert {page.status_code for page in [*pages, preview]} == {200}
    assert (update.status_code, "runs.max_ranks" in values) == (302, True)
    draft, base = ProtocolDraft.objects.get(), make_protocol(slug)
    changes = {
        each.path: each.new for each in differences(tomllib.loads(base.text), tomllib.loads(draft.text))
    }
    assert changes.keys() == {"slug", "title", "source"}
    assert (changes["slug"], changes["title"]) == (f"{slug}-2", f"{base.title} (2)")
    assert changes["source"].startswith("Adapted from ")


def test_changes_have_the_names_of_the_form_and_mark_the_words_that_differ(
    client: Client, organizer: User
) -> None:
    address = begin(client, "trec-adhoc")
    page = client.get(address, {"section": "judging"})
    values = values_of(page) | values_of(client.get(address, {"section": "name"}))
    values |= {"title": [""], "judging.grade[1].definition": ["The document partly answers the topic."]}
    client.post(f"{address}change/", values | {"op": ["remove judging.grade[2]"]})

    shown = client.get(address, {"view": "changes"}).content.decode().partition('<ul class="changes">')[2]

    labels = ("Title", "Highly relevant, Definition", "Relevant")
    title, definition, grade = (
        shown.partition(f"<b>{label}</b>")[2].partition("</li>")[0] for label in labels
    )
    assert "<del>TREC ad hoc retrieval</del>" in title
    assert "<code>title</code>" in title
    assert "<i>empty</i>" in title
    assert "<del>fully</del>" in definition
    assert "<ins>partly</ins>" in definition
    assert "<code>judging.grade[2]</code>" in grade


@pytest.mark.parametrize("name", ["pairs-lab.toml", "captions-lab.toml"])
def test_layouts_without_a_shipped_protocol_have_a_preview(
    client: Client, organizer: User, name: str
) -> None:
    text = samples.path(name).read_text()
    draft = ProtocolDraft.objects.create(owner=organizer, text=text)

    page = client.get(f"{draft.get_absolute_url()}preview/")

    assert page.status_code == 200
    assert {"pairs-lab.toml": "A sample unit", "captions-lab.toml": "value of "}[
        name
    ] in page.content.decode()


def values_of(page: HttpResponse) -> dict[str, list[str]]:
    """The values that a browser sends of the form of a page."""
    form = lxml.html.document_fromstring(page.content).get_element_by_id("form")
    values = defaultdict(list)
    for name, value in form.form_values():
        values[name].append(value.removeprefix("\n"))
    return values


def begin(client: Client, slug: str = "trec-adhoc") -> str:
    """Start a draft from a shipped protocol, and return its address."""
    make_protocol(slug)
    return client.post(reverse("tracks:new_protocol"), {"base": slug}).headers["Location"]


def test_button_adds_a_question(client: Client, organizer: User) -> None:
    address = begin(client)

    answer = client.post(
        f"{address}change/",
        {"revision": 0, "section": "questions", "view": "words", "op": "add judging.question"},
        headers={"HX-Request": "true"},
    )

    assert answer.status_code == 200
    assert "[[judging.question]]" in ProtocolDraft.objects.get().text
    assert 'name="judging.question[1].label"' in answer.content.decode()


def send(client: Client, address: str, *, script: bool = True, **data: object) -> HttpResponse:
    """Send fields to an address of the editor, with its revision, as the form does."""
    given = {"revision": ProtocolDraft.objects.get().revision, "section": "name", "view": "words"} | data
    headers = {"HX-Request": "true"} if script else {}
    return client.post(address, given, headers=headers)


def text_of() -> str:
    return ProtocolDraft.objects.get().text


def area(page: str, name: str) -> str:
    """The text of an area of a page. Browsers leave out a line break at its beginning."""
    return html.unescape(
        re.search(rf'<textarea[^>]*id="{name}"[^>]*>\n?(.*?)</textarea>', page, re.DOTALL)[1]
    )


@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_change_after_one_in_another_window_shows_both_texts_to_choose_from(
    client: Client, organizer: User, script: bool
) -> None:
    address = begin(client)
    send(client, f"{address}change/", title="Of the other window")
    other = text_of()

    answer = send(client, f"{address}change/", script=script, revision=0, title="Mine")
    page = answer.content.decode()
    mine = area(page, "mine")

    assert (answer.status_code, text_of()) == (409, other)
    assert ("<html" in page) is not script
    assert area(page, "other") == other
    assert mine == other.replace("Of the other window", "Mine").replace("of-the-other-window", "mine")
    assert [words in page for words in ("Take mine", "Take the other")] == [True, True]
    taken = client.post(f"{address}text/", {"revision": 1, "text": mine})
    assert (taken.status_code, text_of()) == (302, mine)


def test_text_that_is_not_toml_locks_the_form_with_its_line(client: Client, organizer: User) -> None:
    address = begin(client)
    good = text_of()
    broken = good.replace("unit = ", "unit ", 1)

    answer = send(client, f"{address}text/", text=broken).content.decode()
    page = client.get(address).content.decode()
    refused = send(client, f"{address}change/", title="Other")

    n = broken[: broken.index("\nunit ")].count("\n") + 2
    for shown in (answer, page):
        assert f"line {n}" in shown
        assert '<fieldset class="panel" disabled>' in shown
        assert "TREC ad hoc" in shown  # the last good form
    assert text_of() == broken
    assert area(page, "toml") == broken
    assert 'id="toml"' not in answer  # the text that is typed in stays
    assert (refused.status_code, "Correct the TOML first" in refused.content.decode()) == (409, True)
    send(client, f"{address}text/", text=good)
    assert '<fieldset class="panel">' in client.get(address).content.decode()


def test_changed_field_shows_the_old_value_and_is_undone(client: Client, organizer: User) -> None:
    address = begin(client)
    before = text_of()

    page = send(client, f"{address}change/", section="runs", **{"runs.max_ranks": "50"}).content.decode()
    assert "was: 1000" in page
    assert 'value="undo runs.max_ranks"' in page
    send(client, f"{address}change/", section="runs", op="undo runs.max_ranks")

    assert text_of() == before
    assert "undo " not in client.get(address, {"section": "runs"}).content.decode()


def test_name_in_addresses_is_not_marked_as_changed(client: Client, organizer: User) -> None:
    page = client.get(begin(client)).content.decode()

    assert 'value="undo source"' in page
    assert 'value="undo slug"' not in page


def test_each_choice_that_a_set_of_qrels_grades_has_a_field(client: Client, organizer: User) -> None:
    address = begin(client)
    change, fields = f"{address}change/", {"section": "qrels"}
    send(client, change, op="add qrels.set", **fields)
    of_grades = client.get(address, {"section": "qrels"}).content.decode()
    send(client, change, op="add judging.question", section="questions")
    question = {"label": "Is it fluent?", "kind": "yes-no"}
    send(client, change, **{f"judging.question[1].{key}": value for key, value in question.items()})
    answer = send(client, change, **{"qrels.set[1].question": "is-it-fluent"}, **fields).content.decode()

    grades = {"qrels.set[1].grades:key": ["yes", "no"], "qrels.set[1].grades:value": ["3", ""]}
    send(client, change, **grades, **fields)

    assert 'value="highly-relevant">' in of_grades
    labels = re.findall(r'<label for="f-qrels-set-1-grades-\d">([^<]*)', answer)
    assert labels == ["Yes", "No"]
    assert tomllib.loads(text_of())["qrels"]["set"][0]["grades"] == {"yes": 3}


def test_update_without_a_script_saves_all_fields_of_the_section(client: Client, organizer: User) -> None:
    address = begin(client)
    page = client.get(address, {"section": "measures"}).content.decode()
    assert re.search("<noscript><button[^>]*>Update</button></noscript>", page)

    answer = send(
        client, f"{address}change/", script=False, section="measures", **{"scoring.measures": "nDCG@10\r\nAP"}
    )

    assert answer.headers["Location"] == f"{address}?section=measures&view=words"
    assert 'measures = ["nDCG@10", "AP"]' in text_of()


def test_rows_of_a_list_are_moved_removed_and_added_without_a_script(client: Client, organizer: User) -> None:
    address = begin(client)
    measures = {"scoring.measures": ["AP", "", "bpref", "RR"]}

    def press(op: str) -> str:
        answer = send(client, f"{address}change/", script=False, section="measures", op=op, **measures)
        return client.get(answer.headers["Location"]).content.decode()

    press("up scoring.measures[4]")
    moved = tomllib.loads(text_of())["scoring"]["measures"]
    press("remove scoring.measures[1]")
    removed = tomllib.loads(text_of())["scoring"]["measures"]
    added = re.findall(r'name="scoring.measures" value="(.*?)"', press("row scoring.measures"))

    assert moved == ["AP", "RR", "bpref"]
    assert removed == ["bpref", "RR"]
    assert added == ["AP", "bpref", "RR", ""]


@pytest.mark.parametrize("slug", shipped_slugs())
def test_each_heading_in_words_is_of_a_section(slug: str) -> None:
    headings = {heading for section in SECTIONS.values() for heading in section.headings}

    assert {heading for heading, _ in facts(load_protocol(slug))} <= headings


def test_file_begins_a_draft_if_it_is_text_of_at_most_a_mebibyte(client: Client, organizer: User) -> None:
    contents = {b'title = "Lab"\r\n': "", b"#" * (MAX_BYTES + 1): "1,048,577 bytes", b"\xff": "not UTF-8"}
    address = reverse("tracks:new_protocol")
    for content, message in contents.items():
        answer = client.post(address, {"upload": SimpleUploadedFile("a.toml", content)})
        assert answer.status_code == (422 if message else 302)
        assert message in answer.content.decode()

    assert "Choose a file." in client.post(address, {"upload": ""}).content.decode()
    assert text_of() == 'title = "Lab"\n'


def test_draft_is_only_its_owners(client: Client, organizer: User) -> None:
    address = begin(client)
    before = text_of()
    others = {make_organizer("emmy"): 404, make_user("sofia"): 403}

    for person, status in others.items():
        client.force_login(person)
        assert client.get(address).status_code == status
        for name in ("change", "text", "add", "discard"):
            answer = client.post(f"{address}{name}/", {"revision": 0, "title": "x", "text": "x"})
            assert answer.status_code == status, name
    assert text_of() == before


def test_mistyped_measure_is_one_sentence_at_its_row_and_others_say_what_they_mean(
    client: Client, organizer: User
) -> None:
    address = begin(client)
    names = {"scoring.measures": ["AP", "nDGC@10", "", "MEAN"]}

    answer = send(client, f"{address}change/", section="measures", **names).content.decode()
    page = client.get(address, {"section": "measures"}).content.decode()

    rows = {"1": "Average precision, relevant from grade 1", "2": "There is no measure nDGC; did you mean nDCG@10? ",
            "3": "", "4": "There is no measure MEAN "}  # fmt: skip
    for n, words in rows.items():
        link = "List of measures" if words.endswith(" ") else ""
        assert text_in(answer, f"n-f-scoring-measures-{n}") == words + link, (
            "as in the request, with empty rows"
        )
    assert text_in(page, "n-f-scoring-measures-3").startswith("There is no measure MEAN"), "empty rows go"
    assert "line" not in text_in(page, "n-f-scoring-measures"), "nothing is said twice"
    first = "2 errors. Measures: line 2: there is no measure nDGC; did you mean nDCG@10?"
    assert text_in(page, "foot").startswith(first)
    assert "Use nDCG, AP" not in page
    assert '<option value="P@10">precision at rank 10, relevant from grade 1</option>' in page
    assert lxml.html.document_fromstring(page).get_element_by_id("all-measures") is not None


def test_sections_without_rules_are_not_to_do_and_lines_are_of_the_toml_in_sight(
    client: Client, organizer: User
) -> None:
    address = begin(client)
    send(client, f"{address}change/", section="measures", **{"scoring.measures": "nope"})

    words, toml = (client.get(address, {"view": view}).content.decode() for view in ("words", "toml"))

    assert "#circle" not in words[words.index('id="sections"') : words.index('id="form"')]
    assert text_in(words, "sections-topics-words") == text_in(words, "sections-more-words") == "none"
    assert text_in(words, "state") == "1 error"
    assert text_in(toml, "state").startswith("1 error, line ")


def test_preview_says_which_error_comes_first(client: Client, organizer: User) -> None:
    address = begin(client)
    send(client, f"{address}change/", section="name", title="")

    page = client.get(f"{address}preview/", follow=True).content.decode()

    first = "Correct this first: Name and source, Title: empty; give a title"
    assert f"The judging page cannot be shown yet. {first}" in page


def text_in(page: str, place: str) -> str:
    return " ".join(lxml.html.document_fromstring(page).get_element_by_id(place).text_content().split())
