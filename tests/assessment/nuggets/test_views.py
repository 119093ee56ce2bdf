"""Nuggets: assessors and organizers write, merge and import them; organizers freeze lists, which then never change."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import Event, User
from pooling.models import Nugget, NuggetVersion
from tests.helpers.answers import NUGGETS, AnswersLab, answers_lab, write_nuggets
from tests.helpers.api import api, call
from tests.helpers.factories import make_track
from tracks.models import Topic

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab() -> AnswersLab:
    return answers_lab()


def client_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address(topic: Topic) -> str:
    return reverse("assessment:nugget_list", args=[topic.track.slug, topic.code])


def post(user: User, topic: Topic, **fields: Any) -> Any:
    return client_of(user).post(address(topic), fields)


def add(user: User, topic: Topic, text: str, importance: str = "vital", **fields: Any) -> Any:
    return post(user, topic, action="add", text=text, importance=importance, **fields)


def texts(topic: Topic) -> list[str]:
    return [nugget.text for nugget in topic.nuggets.order_by("pk") if nugget.is_listed]


def html_of(user: User, topic: Topic, query: str = "") -> str:
    return client_of(user).get(address(topic) + query).content.decode()


def file_of(data: bytes, name: str = "nuggets.jsonl") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, data)


def test_assessor_adds_a_nugget_with_the_segments_that_state_it(lab: AnswersLab) -> None:
    response = add(lab.ada, lab.bees, "A bee dances", sources=["bees#1", "bees#2"])

    assert response.status_code == 302
    nugget = Nugget.objects.get()
    assert (nugget.text, nugget.importance, nugget.creator) == ("A bee dances", "vital", "ada")
    assert nugget.sources == ["bees#1", "bees#2"]
    assert Event.objects.filter(action="nugget.added", track_id=lab.track.pk).count() == 1


@pytest.mark.parametrize(
    ("text", "sources", "problem"),
    [
        ("a bee " * 7, [], "12"),
        ("A bee dances", [], "already has “A bee dances”"),
        ("Bees fly", ["bees#9"], "no document bees#9"),
        ("", [], "Fill in this field."),
    ],
    ids=["too long", "twice", "unknown source", "empty"],
)
def test_refused_nugget_says_why(lab: AnswersLab, text: str, sources: list[str], problem: str) -> None:
    add(lab.ada, lab.bees, "A bee dances")

    response = add(lab.ada, lab.bees, text, sources=sources)

    assert response.status_code == 200
    assert problem in response.content.decode()
    assert texts(lab.bees) == ["A bee dances"]


def test_relevant_segments_of_the_chosen_track_are_next_to_the_list(lab: AnswersLab) -> None:
    fields = {"action": "segments", "judged_in": lab.relevance.slug, "from_grade": 1}
    client_of(lab.organizer).post(reverse("assessment:nuggets", args=[lab.track.slug]), fields)

    html = html_of(lab.ada, lab.bees)

    assert "The angle of the waggle dance" in html
    assert "Green tea" not in html


def test_grade_that_the_track_of_segments_lacks_is_refused(lab: AnswersLab) -> None:
    fields = {"action": "segments", "judged_in": lab.relevance.slug, "from_grade": 7}

    response = client_of(lab.organizer).post(reverse("assessment:nuggets", args=[lab.track.slug]), fields)

    assert "no grade 7; use 0, 1, 2" in response.content.decode()


def test_track_of_answers_is_not_its_own_track_of_relevance(lab: AnswersLab) -> None:
    fields = {"judged_in": lab.track.slug, "from_grade": 0}

    response = call(api(lab.organizer), "PUT", "nugget_segments", lab.track.slug, data=fields)

    assert response.status_code in {400, 409, 422}
    assert "choose the track that judged relevance" in response.content.decode()


def test_page_says_which_version_it_froze(lab: AnswersLab) -> None:
    write_nuggets(lab, is_frozen=False)

    html = (
        client_of(lab.organizer).post(address(lab.bees), {"action": "freeze"}, follow=True).content.decode()
    )

    assert f"Froze version 1 of the nuggets of topic {lab.bees.code}." in html


def test_merge_keeps_the_keys_and_sources_of_both(lab: AnswersLab) -> None:
    add(lab.ada, lab.bees, "A bee dances on the comb", sources=["bees#1"])
    add(lab.bob, lab.bees, "Bees dance on the comb", "okay", sources=["bees#2"])
    assert "Merge the two" in html_of(lab.ada, lab.bees)
    first, second = lab.bees.nuggets.order_by("pk")

    post(lab.ada, lab.bees, action="merge", ids=[first.pk, second.pk], text="Bees dance", importance="vital")

    merged = lab.bees.nuggets.get(replaced_by=None)
    assert texts(lab.bees) == ["Bees dance"]
    assert merged.merged == [first.key, second.key]
    assert merged.sources == ["bees#1", "bees#2"]
    assert "merged from “A bee dances on the comb”, “Bees dance on the comb”" in html_of(lab.ada, lab.bees)


def test_merge_may_keep_the_text_of_one_of_them(lab: AnswersLab) -> None:
    add(lab.ada, lab.bees, "A bee dances")
    add(lab.bob, lab.bees, "Bees dance")
    ids = list(lab.bees.nuggets.values_list("pk", flat=True))

    post(lab.ada, lab.bees, action="merge", ids=ids, text="Bees dance", importance="vital")

    assert texts(lab.bees) == ["Bees dance"]


def test_one_nugget_is_not_merged(lab: AnswersLab) -> None:
    add(lab.ada, lab.bees, "A bee dances")

    response = post(
        lab.ada, lab.bees, action="merge", ids=[lab.bees.nuggets.get().pk], text="Bees", importance="vital"
    )

    assert "Tick at least two nuggets" in response.content.decode()


def test_removed_nugget_can_be_restored(lab: AnswersLab) -> None:
    add(lab.ada, lab.bees, "A bee dances")
    nugget = lab.bees.nuggets.get()

    post(lab.bob, lab.bees, action="remove", nugget=nugget.pk)
    was_removed = texts(lab.bees) == []
    post(lab.ada, lab.bees, action="restore", nugget=nugget.pk)

    assert was_removed
    assert texts(lab.bees) == ["A bee dances"]


def test_change_of_what_somebody_else_changed_is_refused(lab: AnswersLab) -> None:
    add(lab.ada, lab.bees, "A bee dances")
    nugget = lab.bees.nuggets.get()
    fields = {"action": "change", "nugget": nugget.pk, "shown": nugget.key, "importance": "okay"}
    post(lab.ada, lab.bees, text="Bees dance", **fields)

    response = post(lab.bob, lab.bees, text="Bees sing", **fields)

    assert "Somebody changed this nugget" in response.content.decode()
    assert texts(lab.bees) == ["Bees dance"]


def test_frozen_version_never_changes(lab: AnswersLab) -> None:
    write_nuggets(lab)
    nugget = lab.bees.nuggets.first()
    assert nugget is not None

    post(
        lab.ada, lab.bees, action="change", nugget=nugget.pk, shown=nugget.key, text="Bees", importance="okay"
    )

    version = NuggetVersion.objects.get(topic=lab.bees)
    assert [each["text"] for each in version.nuggets] == [text for text, _, _ in NUGGETS["bees"]]
    assert "A bee dances on the comb" in html_of(lab.ada, lab.bees, "?version=1")
    with pytest.raises(IntegrityError), transaction.atomic():
        NuggetVersion.objects.filter(pk=version.pk).update(version=2)


def test_changed_list_becomes_the_next_version(lab: AnswersLab) -> None:
    write_nuggets(lab)
    unchanged = post(lab.organizer, lab.bees, action="freeze")
    add(lab.ada, lab.bees, "Bees waggle")

    post(lab.organizer, lab.bees, action="freeze")

    assert unchanged.status_code == 409
    versions = NuggetVersion.objects.filter(topic=lab.bees).order_by("version")
    assert [(version.version, len(version.nuggets)) for version in versions] == [(1, 3), (2, 4)]
    kept = [each["key"] for each in versions[0].nuggets]
    assert [each["key"] for each in versions[1].nuggets][:3] == kept


def test_empty_list_and_a_list_above_the_limit_are_not_frozen(lab: AnswersLab) -> None:
    empty = post(lab.organizer, lab.tea, action="freeze")
    for number in range(31):
        add(lab.ada, lab.bees, f"Fact {number}")

    too_many = post(lab.organizer, lab.bees, action="freeze")

    assert (empty.status_code, too_many.status_code) == (409, 409)
    assert "31" in too_many.content.decode()
    assert not NuggetVersion.objects.exists()


def test_only_organizers_freeze_import_and_choose_segments(lab: AnswersLab) -> None:
    write_nuggets(lab, is_frozen=False)
    page = reverse("assessment:nuggets", args=[lab.track.slug])

    frozen = post(lab.ada, lab.bees, action="freeze")
    imported = client_of(lab.ada).post(page, {"action": "import", "file": file_of(b"{}")})

    assert (frozen.status_code, imported.status_code) == (403, 403)
    assert client_of(lab.ada).get(page).status_code == 200


def test_track_of_documents_has_no_nuggets(lab: AnswersLab) -> None:
    track = make_track(protocol="trec-adhoc")

    assert client_of(lab.organizer).get(reverse("assessment:nuggets", args=[track.slug])).status_code == 404


def test_file_of_nuggetizer_is_imported_and_comes_out_again(lab: AnswersLab) -> None:
    write_nuggets(lab)
    client = client_of(lab.organizer)
    data = client.get(reverse("assessment:nuggets_file", args=[lab.track.slug, "nuggetizer"])).content
    Nugget.objects.filter(topic=lab.tea).delete()
    page = reverse("assessment:nuggets", args=[lab.track.slug])

    data = data.replace(b'{"', b'{"\xe9": 0, "', 1)
    response = client.post(page, {"action": "import", "file": file_of(data)}, follow=True)

    assert "2 new nuggets imported." in response.content.decode()  # the list of bees has its own
    assert "Line 1 is not UTF-8 and is read as Windows-1252." in response.content.decode()
    assert texts(lab.tea) == [text for text, _, _ in NUGGETS["tea"]]
    assert {nugget.creator for nugget in lab.tea.nuggets.all()} == {"ada"}  # as the file says


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"no JSON", "line 1"),
        (
            b'{"qid": "cats", "query": "?", "nuggets": [{"text": "A", "importance": "vital"}]}',
            "no topic cats",
        ),
        (
            rb'{"qid": "tea", "query": "?", "nuggets": [{"text": "A\u0000", "importance": "vital"}]}',
            "control characters",
        ),
    ],
    ids=["unreadable", "unknown topic", "control characters"],
)
def test_file_that_is_refused_imports_nothing(lab: AnswersLab, data: bytes, problem: str) -> None:
    page = reverse("assessment:nuggets", args=[lab.track.slug])

    response = client_of(lab.organizer).post(page, {"action": "import", "file": file_of(data)})

    assert problem in response.content.decode()
    assert not Nugget.objects.exists()


def test_commands_import_freeze_and_export(
    lab: AnswersLab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "bank.jsonl", tmp_path / "out.jsonl"
    question = {
        "question": "Where do bees dance?",
        "answers": {"a": {"answer": "On the comb"}},
        "aggregator_type": "OR",
    }
    bank = {"query_id": "bees", "title_query": "?", "nugget_bank": {"q": question | {"importance": "vital"}}}
    source.write_text(json.dumps(bank) + "\n")

    call_command("import_nuggets", lab.track.slug, str(source), "--by", "olga", "--freeze")
    call_command("export_nuggets", lab.track.slug, str(target), "--format", "nugget-bank")

    assert capsys.readouterr().out == "1 new nugget imported\n1 nugget written\n"
    version = NuggetVersion.objects.get()
    assert version.nuggets[0]["shown"] == "Where do bees dance? — On the comb"
    assert "Answer: On the comb" in html_of(lab.ada, lab.bees)
    assert "Where do bees dance?" in target.read_text()
    with pytest.raises(CommandError, match="cannot be read or written"):
        call_command("export_nuggets", lab.track.slug, str(target))
    with pytest.raises(CommandError, match="judges no generated answers"):
        call_command("import_nuggets", lab.relevance.slug, str(source), "--by", "olga")


def test_program_writes_merges_and_freezes_a_list(lab: AnswersLab) -> None:
    ada, slug = api(lab.ada, "read", "judge"), lab.track.slug
    for text in ("A bee dances", "Bees dance"):
        made = call(ada, "POST", "nuggets", slug, data={"topic": "bees", "text": text, "creator": "gpt"})
        assert made.status_code == 201, made.json()
    ids = [row["id"] for row in call(ada, "GET", "nuggets", slug).json()["results"]]

    merged = call(
        ada, "POST", "merge_nuggets", slug, data={"topic": "bees", "ids": ids, "text": "All bees dance"}
    ).json()
    changed = call(ada, "PATCH", "nugget", merged["id"], data={"importance": "okay"}).json()
    frozen = call(api(lab.organizer), "POST", "nugget_versions", slug, data={"topic": "bees"})

    assert merged["merged"] == [nugget.key for nugget in lab.bees.nuggets.order_by("pk")[:2]]
    assert changed["importance"] == "okay"
    assert [each["text"] for each in frozen.json()["nuggets"]] == ["All bees dance"]
    assert call(ada, "DELETE", "nugget", merged["id"]).status_code == 204
    assert call(ada, "POST", "restore_nugget", merged["id"]).status_code == 200
    assert call(ada, "POST", "nugget_versions", slug, data={"topic": "bees"}).status_code == 403


def test_program_exchanges_files_and_chooses_segments(lab: AnswersLab) -> None:
    organizer, slug = api(lab.organizer), lab.track.slug
    line = {"qid": "tea", "query": "?", "nuggets": [{"text": "Tea is a drink", "importance": "okay"}]}
    files = {"file": file_of(json.dumps(line).encode())}

    imported = organizer.post(reverse("api:import_nuggets", args=[slug]), files)
    call(organizer, "POST", "nugget_versions", slug, data={"topic": "tea"})
    out = call(organizer, "GET", "nuggets_file", slug, "nuggetizer")
    chosen = call(
        organizer, "PUT", "nugget_segments", slug, data={"judged_in": lab.relevance.slug, "from_grade": 2}
    )

    assert imported.json() == {"n": 1}
    assert json.loads(out.content)["nuggets"][0]["text"] == "Tea is a drink"
    assert chosen.json() == call(organizer, "GET", "nugget_segments", slug).json()


def test_program_filters_nuggets_by_topic_and_importance(lab: AnswersLab) -> None:
    organizer, slug = api(lab.organizer), lab.track.slug
    for topic, importance in (("bees", "vital"), ("bees", "okay"), ("tea", "okay")):
        text = f"{topic} {importance}"
        call(
            organizer,
            "POST",
            "nuggets",
            slug,
            data={"topic": topic, "text": text, "importance": importance},
        )
    address = reverse("api:nuggets", args=[slug])

    chosen = [
        {row["text"] for row in organizer.get(address, query).json()["results"]}
        for query in ({"topic": "bees"}, {"importance": "okay"}, {"topic": "tea", "importance": "vital"})
    ]

    assert chosen == [{"bees vital", "bees okay"}, {"bees okay", "tea okay"}, set()]
