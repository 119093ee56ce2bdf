"""Pairs of documents: the page with two sides, the choices of the protocol, hidden repeats, files and consistency."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart
from django.urls import reverse

from accounts.models import User
from assay import samples
from assay.preferences.votes import parse_votes
from assay.protocols.loader import parse_protocol
from assessment.agreement.preferences import preferences_of
from assessment.checks import services as checks
from assessment.errors import AnswerRefused
from assessment.judging.layouts import shown_unit
from assessment.judgments.disagreements import rounds_of
from assessment.judgments.pairs import sides_of
from assessment.models import Batch, Check, GoldUnit, Judgment
from pooling.models import Pool, PoolEntry
from tests.helpers.api import api, call
from tests.helpers.factories import make_assessor, make_document, make_organizer, make_topic, make_track
from tests.helpers.judging import accept, judge, make_batch, make_pool
from tests.helpers.remembered import remembered
from tracks.models import StoredProtocol, Track

pytestmark = pytest.mark.django_db
SAMPLE = samples.path("pairs-lab.toml").read_text().replace('after = ["first", "second"]', "MUCH")
LAB = SAMPLE.replace("[judging.preference]\n", "[judging.preference]\nstrength = 2\n").replace(
    "MUCH", 'after = ["first-much", "second-much"]'
)
DOCNOS = "abcd"


class Scene(NamedTuple):
    """Ada judges the six pairs of four documents of a topic."""

    track: Track
    pool: Pool
    batch: Batch
    ada: User
    organizer: User


@remembered
def build_scene(text: str = LAB) -> Scene:
    parsed = parse_protocol(text, name="lab.toml")
    fields = {"title": parsed.title, "text": text, "digest": parsed.digest}
    track = make_track()
    track.protocol = StoredProtocol.objects.create(slug="lab", **fields)
    track.save()
    topic = make_topic(track, "A.1")
    assert track.collection is not None
    for docno in DOCNOS:
        make_document(track.collection, docno, body=f"<p>Text of {docno}.</p>")
    pool = make_pool(track, {})
    pairs = [f"{first}|{second}" for first in DOCNOS for second in DOCNOS if first < second]
    PoolEntry.objects.bulk_create(
        PoolEntry(pool=pool, topic=topic, docno=docno, position=n) for n, docno in enumerate(pairs)
    )
    ada = make_assessor(track, "ada")
    return Scene(track, pool, make_batch(pool, {ada: [topic]}), ada, make_organizer())


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def choices_on(page: str) -> dict[str, str]:
    """The label of each choice by what its button stores."""
    parts = page.split('name="choice"')[1:]
    return {
        part.split('value="')[1].split('"')[0]: part.split('data-label="')[1].split('"')[0] for part in parts
    }


def test_page_shows_the_two_documents_in_the_order_that_the_judgment_stores() -> None:
    scene = build_scene()
    lefts: dict[str, bool] = {}
    for _ in range(6):
        task = accept(scene.batch, scene.ada)

        page = client_of(scene.ada).get(task.get_absolute_url()).content.decode()
        label = choices_on(page)["first"]
        judgment = judge(task, "first")

        first, second = task.entry.docno.split("|")
        assert judgment.left == (first if label == "Left better" else second)
        assert page.index(f"Text of {judgment.left}.") < page.index(
            f"Text of {({first, second} - {judgment.left}).pop()}."
        )
        lefts[task.entry.docno] = judgment.left == first
        assert "You judged this <strong>" + label in client_of(scene.ada).get(
            task.get_absolute_url()
        ).content.decode().replace("\n", " ")
    assert len(lefts) == 6


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("strength = 2", "strength = 2",
         ["Left much better", "Left better", "Equally good", "Right better", "Right much better", "Both useless",
          "Unreadable"]),
        ("strength = 2", "strength = 1", ["Left better", "Equally good", "Right better", "Both useless", "Unreadable"]),
        ("strength = 2", "ties = false", ["Left better", "Right better", "Both useless", "Unreadable"]),
        ("strength = 2", "both_bad = false", ["Left better", "Equally good", "Right better", "Unreadable"]),
    ],
)  # fmt: skip
def test_choices_are_those_of_the_protocol(old: str, new: str, expected: list[str]) -> None:
    text = LAB.replace(old, new)
    scene = build_scene(
        text if "strength = 2" in new else text.replace('after = ["first-much", "second-much"]\n', "")
    )
    task = accept(scene.batch, scene.ada)

    page = client_of(scene.ada).get(task.get_absolute_url()).content.decode()

    shown = choices_on(page)
    assert list(shown.values()) == expected
    rules = shown_unit(task).rules
    keys = ["1", "2", "3", "4", "5"][: len(expected) - 1 - ("Both useless" in expected)]
    assert [grade.shortcut for grade in rules.grades] == keys + ["0"] * ("Both useless" in expected)
    if "Equally good" not in expected:
        with pytest.raises(AnswerRefused, match="not a choice of this protocol"):
            judge(task, "tie")


def test_page_asks_the_question_of_the_protocol() -> None:
    scene = build_scene(LAB.replace("Which answer would you rather have got?", "Which one is clearer?"))

    page = client_of(scene.ada).get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()

    assert page.count("Which one is clearer?") == 2, "above the documents, and as the name of the choices"
    assert "What makes it better?" in page


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (
            "de",
            {
                "Links viel besser",
                "Gleich gut",
                "Beide nutzlos",
                "Welches Dokument ist besser für das Thema?",
            },
        ),
        ("ar", {"الأيسر أفضل بكثير", "متساويان في الجودة", "كلاهما بلا فائدة", "أي الوثيقتين أفضل للموضوع؟"}),
    ],
)
def test_words_of_assay_about_a_pair_are_in_the_language_of_the_assessor(
    language: str, words: set[str]
) -> None:
    lines = [line for line in LAB.splitlines() if not line.startswith('question = "Which')]
    scene = build_scene("\n".join(lines))
    User.objects.update(language=language)

    task = accept(scene.batch, scene.ada)
    shown = client_of(scene.ada).get(task.get_absolute_url()).content.decode()
    judge(task, "first-much")
    own = (
        client_of(scene.ada).get(reverse("assessment:own_judgments", args=[scene.batch.pk])).content.decode()
    )

    assert not [each for each in words if each not in shown]
    assert not re.findall(r"(Left|Right) (much )?better|one on the", shown)
    assert "much better" not in own


def test_hidden_repeat_has_the_other_order() -> None:
    scene = build_scene()
    checks.configure(batch=scene.batch, gold_percent=0, repeat_percent=20, repeat_after=1)
    planned = Check.objects.get(batch=scene.batch)
    choices: Mapping[bool, str] = {False: "first", True: "second"}

    sides, page = {}, ""
    while Judgment.objects.count() < 7:
        task = accept(scene.batch, scene.ada)
        if task.entry_id == planned.entry_id:
            sides[task.is_check] = sides_of(task)
            page = client_of(scene.ada).get(task.get_absolute_url()).content.decode()
        judge(task, choices[task.is_check])

    assert sides[True] == sides[False][::-1]  # type: ignore[index]
    assert choices_on(page)["first"] == ("Left better" if sides[True] < sides[False] else "Right better")
    [of_topic] = preferences_of(scene.track, rounds_of(scene.track)[0])
    values = of_topic.consistency
    assert (values.repeated, values.repeated_alike) == (1, 0)
    assert (values.judged, values.pairs, values.circular) == (6, 6, 0)


def test_agreement_shows_circular_triads_and_the_share_of_the_left() -> None:
    scene = build_scene()
    circle = {"a|b": "first", "b|c": "first", "a|c": "second"}
    n_left = 0
    for _ in range(6):
        judgment = judge(task := accept(scene.batch, scene.ada), circle.get(task.entry.docno, "tie"))
        first, second = judgment.docno.split("|")
        n_left += judgment.left == {"first": first, "second": second}.get(judgment.choice)
    client = client_of(scene.organizer)

    page = client.get(reverse("assessment:agreement", args=[scene.track.slug])).content.decode()
    table = client.get(reverse("assessment:agreement_tsv", args=[scene.track.slug, "preferences"]))
    answer = call(api(scene.organizer), "GET", "agreement", scene.track.slug).json()

    assert "1 of 1" in page, "the only triad whose sides are decided is circular"
    assert f"{round(100 * n_left / 3)} %" in page
    assert table.getvalue().decode().splitlines()[1].split("\t")[:5] == ["A.1", "6", "6", "1", "1"]  # type: ignore[attr-defined]
    assert answer["preferences"][0]["circular"] == 1
    assert answer["preferences"][0]["left"] == pytest.approx(n_left / 3)


def exported(scene: Scene, form: str) -> str:
    address = reverse("assessment:export", args=[scene.track.slug])
    wanted = {"to": form, "names": "usernames", "comments": "without"}
    answer = client_of(scene.organizer).get(address, wanted)
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]


def test_preferences_are_exported_by_page_api_and_command(tmp_path: Path) -> None:
    scene = build_scene()
    for choice in ("first-much", "second", "tie", "bad", "unreadable"):
        judge(accept(scene.batch, scene.ada), choice)
    judged = Judgment.objects.order_by("pk")

    votes = parse_votes(exported(scene, "prefj"), "votes")
    address = reverse("api:export_judgments", args=[scene.track.slug])
    answer = api(scene.organizer).get(address, {"to": "prefj", "names": "usernames"})
    of_api = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
    call_command(
        "export_judgments", scene.track.slug, str(tmp_path / "v.txt"), "--format=prefj", "--usernames"
    )

    assert [(vote.left, vote.winner) for vote in votes] == [
        (each.left, winner) for each, winner in zip(judged, ["a", "c", "tie", "bad"], strict=False)
    ]
    assert of_api == (tmp_path / "v.txt").read_text() == exported(scene, "prefj")
    assert exported(scene, "pgc") == "A.1\ta\tb\nA.1\tc\ta\n"
    assert exported(scene, "trec_eval").count("\n") == 8
    assert votes[0].assessor == "ada"


def test_pages_of_quality_offer_only_what_a_scale_without_order_has() -> None:
    scene = build_scene(LAB.replace('layout = "pair"', 'layout = "pair"\ndual_topics = 1'))
    client, slug = client_of(scene.organizer), scene.track.slug
    filters = reverse("assessment:disagreements", args=[slug])

    page = client.get(filters).content.decode()
    assert set(re.findall(r'<option value="([a-z-]+)"', page)) == {"any", "non-answer"}
    assert 'name="steps"' not in page
    assert client.get(filters, {"rule": "steps"}).status_code == 400
    assert client.get(f"/api/v1/tracks/{slug}/disagreements/", {"rule": "threshold"}).status_code == 400
    asked = {"rule": "steps", "adjudicators": ["ada"]}
    refused = api(scene.organizer).post(
        f"/api/v1/tracks/{slug}/adjudication-batches/", asked, content_type="application/json"
    )
    assert refused.status_code == 400
    assert "There is no steps here. Accepted: any, non-answer." in refused.content.decode()
    dual = client.get(reverse("assessment:new_dual", args=[scene.pool.pk])).content.decode()
    assert "one topic of another: the first that are judged completely." in dual
    board = client.get(reverse("assessment:board", args=[slug])).content.decode()
    assert "Relevant" not in dual + board
    header = client.get(reverse("assessment:check_results_tsv", args=[slug])).content.decode().splitlines()[0]
    assert [name for name in header.split("\t") if "two_way" in name or "bias" in name] == []


def test_a_track_without_pairs_has_no_preferences_to_export(tmp_path: Path) -> None:
    track, organizer = make_track(), make_organizer()
    address = reverse("assessment:export", args=[track.slug])

    page = client_of(organizer).get(address, {"to": "pgc", "names": "codes", "comments": "with"})

    assert page.status_code == 400
    with pytest.raises(CommandError, match="judges no pairs"):
        call_command("export_judgments", track.slug, str(tmp_path / "v.txt"), "--format=pgc")


def test_program_gets_both_documents_and_the_choices_about_their_sides() -> None:
    scene = build_scene()
    task = accept(scene.batch, scene.ada)

    unit: Any = call(api(scene.ada), "GET", "task", task.pk).json()["unit"]

    assert [each["text"].strip() for each in unit["pair"]] == [
        f"Text of {each}." for each in sides_of(task) or ()
    ]
    labels = {grade["key"]: grade["label"] for grade in unit["grades"]}
    is_turned = (sides_of(task) or ("", ""))[0] == "b"
    assert labels["first"] == ("Right better" if is_turned else "Left better")


def test_pool_page_shows_the_beginnings_of_both_documents() -> None:
    scene = build_scene()
    address = reverse("pooling:pool_topic", args=[scene.pool.pk, "A.1"])

    page = client_of(scene.organizer).get(address).content.decode()

    assert "a: Title of a Text of a. · b: Title of b Text of b." in page


def test_document_that_the_collection_lacks_is_named() -> None:
    scene = build_scene()
    assert scene.track.collection is not None
    scene.track.collection.documents.filter(docno="a").delete()

    page = client_of(scene.ada).get(accept(scene.batch, scene.ada).get_absolute_url()).content.decode()

    assert "does not have the text of this document" in page
    assert "Text of b." in page


def test_rules_of_documents_stay_as_they_are() -> None:
    rules = make_track().protocol.parsed.judging

    assert replace(rules, judges=2).grades == rules.grades


def test_import_refuses_a_left_document_that_is_not_of_the_pair(tmp_path: Path) -> None:
    scene = build_scene()
    lines = [
        "topic,docno,assessor,choice,left",
        "A.1,a|b,ada,first,z",
        "A.1,a|c,ada,first,c",
        "A.1,b|c,ada,tie,",
    ]
    content = "\n".join(lines)
    (tmp_path / "old.csv").write_text(content)
    data = {"upload": SimpleUploadedFile("old.csv", content.encode()), "batch": "Old", "kind": "main"}
    client, slug = client_of(scene.organizer), scene.track.slug
    form = encode_multipart(
        BOUNDARY, {"file": SimpleUploadedFile("old.csv", content.encode()), "batch": "Old"}
    )

    page = client.post(reverse("assessment:imports", args=[slug]), data, follow=True).content.decode()
    of_api = call(
        api(scene.organizer), "POST", "judgment_imports", slug, data=form, content_type=MULTIPART_CONTENT
    ).json()

    message = "z cannot be on the left of a|b; use a or b, or leave it empty"
    assert message in page
    assert of_api["report"]["complaints"] == [[2, message]]
    with pytest.raises(CommandError, match=r"line 2: z cannot be on the left of a\|b; use a or b"):
        call_command("import_judgments", slug, str(tmp_path / "old.csv"), "--by", scene.organizer.username)
    assert not Judgment.objects.exists()
    (tmp_path / "old.csv").write_text(content.replace(",z", ",b"))
    call_command("import_judgments", slug, str(tmp_path / "old.csv"), "--by", scene.organizer.username)
    stored = Judgment.objects.order_by("docno").values_list("docno", "left")
    assert list(stored) == [("a|b", "b"), ("a|c", "c"), ("b|c", "")]


def test_import_refuses_a_side_where_units_are_no_pairs() -> None:
    track = make_track()
    topic, organizer = make_topic(track, "A.1"), make_organizer()
    make_assessor(track, "ada")
    docno = make_pool(track, {topic: 1}).entries.get().docno
    content = f"topic,docno,assessor,grade,left\nA.1,{docno},ada,3,{docno}\n".encode()
    data = {"upload": SimpleUploadedFile("old.csv", content), "batch": "Old", "kind": "main"}

    page = client_of(organizer).post(reverse("assessment:imports", args=[track.slug]), data, follow=True)

    message = f"{docno} cannot be on the left of {docno}; leave it empty: only pairs have sides"
    assert message in page.content.decode()


@pytest.mark.parametrize("ties", [True, False])
def test_known_grades_are_choices_of_the_protocol(ties: bool) -> None:
    text = LAB if ties else LAB.replace("strength = 2", "strength = 2\nties = false")
    scene = build_scene(text)
    address = reverse("assessment:gold", args=[scene.track.slug])
    client = client_of(scene.organizer)

    def send(content: str) -> str:
        file = SimpleUploadedFile("known.txt", content.encode())
        return client.post(address, {"file": file}, follow=True).content.decode()

    offered = "5 (first-much), 4 (first), 3 (tie), 2 (second), 1 (second-much), 0 (bad)"
    accepted = offered if ties else offered.replace("3 (tie), ", "")
    for wrong in (6, 999, -1, *([] if ties else [3])):
        page = send(f"A.1 0 a|b 4\nA.1 0 a|c {wrong}\n")
        assert f"line 2: grade {wrong} is no choice about a pair; use {accepted}" in page
    assert not GoldUnit.objects.exists()

    send("A.1 0 a|b 4\nA.1 0 a|c 0\n")

    assert sorted(GoldUnit.objects.values_list("docno", "grade")) == [("a|b", 4), ("a|c", 0)]


def test_agreement_by_topic_has_no_ordinal_alpha() -> None:
    scene = build_scene()
    bob = make_assessor(scene.track, "bob")
    dual = make_batch(scene.pool, {bob: [scene.pool.entries.earliest("pk").topic]}, kind=Batch.Kind.DUAL)
    for batch, assessor in ((scene.batch, scene.ada), (dual, bob)):
        for choice in ("first", "tie", "second"):
            judge(accept(batch, assessor), choice)
    client = client_of(scene.organizer)

    page = client.get(reverse("assessment:agreement", args=[scene.track.slug])).content.decode()
    answer = call(api(scene.organizer), "GET", "agreement", scene.track.slug).json()

    assert "Alpha, nominal" in page
    assert "Alpha, ordinal" not in page
    assert [row["alpha_ordinal"] for row in answer["topics"]] == [None]
    assert answer["topics"][0]["alpha_nominal"] is not None
