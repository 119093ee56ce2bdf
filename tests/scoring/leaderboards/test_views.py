import csv
import hashlib
import re
from datetime import date
from io import StringIO
from typing import Any
from urllib.parse import urlencode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Event
from assessment.batches import services as batch_services
from assessment.models import Batch
from jobs import services as jobs
from participation.teams import services as team_services
from pooling.models import Pool, Run
from pooling.runs import changes as run_changes
from scoring.leaderboards import selectors as board_selectors
from scoring.models import Evaluation, Leaderboard, Qrels
from scoring.qrels import forms as qrels_forms
from scoring.qrels import services as qrels_services
from tests.helpers.judging import make_machine
from tests.helpers.qrels_pages import digest_in
from tests.scoring.conftest import QRELS, Scene
from tests.scoring.qrels.test_services import NINE
from tracks.models import Milestone, Track
from tracks.tracks import services as track_services

CAST = ["organizer", "ada", "member", "other", "stranger", "visitor"]


def client_of(scene: Scene, part: str) -> Client:
    client = Client()
    if part != "visitor":
        client.force_login(getattr(scene, part))
    return client


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.getvalue().decode()


def statuses(scene: Scene, address: str) -> dict[str, int]:
    return {part: client_of(scene, part).get(address).status_code for part in CAST}


def seen_by(*parts: str) -> dict[str, int]:
    return {part: 200 if part in parts else 404 for part in CAST}


def test_only_organizers_see_a_withdrawn_release(scored: Scene) -> None:
    board = scored.leaderboard(release="public")
    organizer, address = client_of(scored, "organizer"), reverse("scoring:release", args=[board.pk])

    assert f'href="{address}?level=hidden">Hide leaderboard…</a>' in text_of(
        organizer, board.get_absolute_url()
    )
    question = text_of(organizer, f"{address}?level=hidden")
    assert "Only organizers see it from this moment." in question
    assert "At a set time" not in question
    assert organizer.get(f"{address}?level=public").url == board.get_absolute_url()
    [level] = re.findall(r'name="level" value="(\w+)"', question)
    organizer.post(address, {"level": level})

    for address in (
        board.get_absolute_url(),
        reverse("scoring:leaderboard_file", args=[board.pk, "tsv"]),
        board.qrels.get_absolute_url(),
        reverse("scoring:qrels_file", args=[board.qrels_id]),
    ):
        assert statuses(scored, address) == seen_by("organizer")


def test_nothing_of_a_draft_track_is_seen_even_if_public(scored: Scene) -> None:
    board = scored.leaderboard(release="public")
    Track.objects.update(status=Track.Status.DRAFT)

    assert statuses(scored, board.get_absolute_url()) == seen_by("organizer")
    assert statuses(scored, reverse("scoring:leaderboards", args=["arq"])) == seen_by("organizer")


def test_lists_are_open_and_show_what_each_may_see(scored: Scene) -> None:
    board = scored.leaderboard(release="participants")
    seen = {part: part in {"organizer", "member", "other"} for part in CAST}
    addresses = {
        board.qrels.get_absolute_url(): reverse("scoring:qrels_list", args=["arq"]),
        board.get_absolute_url(): reverse("scoring:leaderboards", args=["arq"]),
    }

    only = {part: client_of(scored, part).get(addresses[board.get_absolute_url()]) for part in CAST}
    second = Leaderboard.objects.get()
    second.pk = second.job = None
    second.save()

    for link, address in addresses.items():
        assert {part: link in text_of(client_of(scored, part), address) for part in CAST} == seen
    leads = {part: page.headers.get("Location") == board.get_absolute_url() for part, page in only.items()}
    assert leads == seen | {"organizer": False}


def test_empty_list_advises_what_the_state_of_the_track_allows(scene: Scene) -> None:
    address, client = reverse("scoring:leaderboards", args=["arq"]), client_of(scene, "organizer")

    before = client.get(address).content.decode()
    qrels = scene.qrels()
    after = client.get(address).content.decode()

    assert [f'href="{qrels.get_absolute_url()}">Open the qrels<' in page for page in (before, after)] == [
        False,
        True,
    ]
    assert ["there are none yet" in page for page in (before, after)] == [True, False]
    assert "Tables for a paper" not in before + after


@pytest.mark.parametrize("name", ["freeze", "import_qrels"])
def test_forms_are_for_organizers(scene: Scene, name: str) -> None:
    answers = statuses(scene, reverse(f"scoring:{name}", args=["arq"]))

    assert answers == {"organizer": 200, "visitor": 302} | dict.fromkeys(
        ["ada", "member", "other", "stranger"], 403
    )


def test_data_of_the_track_offers_the_files_of_released_results_only(scored: Scene) -> None:
    address = reverse("tracks:downloads", args=[scored.track.slug])
    hidden = scored.leaderboard()
    before = Client().get(address).content.decode()
    board = scored.leaderboard(hidden.qrels, release="public")

    after = Client().get(address).content.decode()

    files = re.findall(r'href="([^"]*)" download>.*?</a>', after[after.index('id="downloads-results"') :])
    assert "downloads-results" not in before
    assert [Client().get(file).status_code for file in files] == [200, 200, 200]
    assert files[0] == reverse("scoring:qrels_file", args=[board.qrels.pk])
    assert board.qrels.sha256 in after


@pytest.mark.parametrize("part", CAST[1:])
def test_only_organizers_score_and_release(scored: Scene, part: str) -> None:
    board = scored.leaderboard(release="public")
    client = client_of(scored, part)

    answers = [
        client.post(reverse("scoring:score", args=[board.qrels_id])).status_code,
        client.post(reverse("scoring:release", args=[board.pk]), {"level": "hidden"}).status_code,
    ]

    assert answers == [302 if part == "visitor" else 403] * 2
    assert Leaderboard.objects.get().release == "public"


@pytest.mark.parametrize("name", ["score", "archive_qrels"])
def test_nothing_changes_by_a_get(scored: Scene, name: str) -> None:
    board = scored.leaderboard()

    answer = client_of(scored, "organizer").get(reverse(f"scoring:{name}", args=[board.qrels_id]))

    assert answer.status_code == 405


def previewed(client: Client, **chosen: str) -> dict[str, str]:
    """The fields that the form of the preview submits."""
    page = text_of(client, f"{reverse('scoring:freeze', args=['arq'])}?{urlencode(chosen)}")
    return {"digest": digest_in(page), "pool": str(Pool.objects.get().pk), **chosen}


def test_preview_shows_what_is_left_out_and_stores_nothing(scored: Scene) -> None:
    scored.judged("high", "system-failure")
    client = client_of(scored, "organizer")

    page = text_of(client, reverse("scoring:freeze", args=["arq"]))
    client.post(reverse("scoring:freeze", args=["arq"]), {"pool": scored.pool.pk})  # without a preview

    assert "<b>1 judged unit of 1 topic</b>" in page
    assert "7 units of the pool are unjudged" in page
    assert "1 unit has a non-answer and no grade" in page
    assert not Qrels.objects.exists()


def test_losses_are_said_first_and_on_the_button(scored: Scene) -> None:
    scored.judged("high", "low")
    client, address = client_of(scored, "organizer"), reverse("scoring:freeze", args=["arq"])
    form = previewed(client)

    page = client.post(address, {**form, "without": ""}).content.decode()  # "Update the preview"

    lost = "2 of 3 topics would be dropped, and 7 units of the pool are unjudged."
    assert page.index(lost) < page.index('name="digest"')
    assert "2 judged units of 1 topic" in page
    assert re.search(r"Freeze and score</button>\s*<button[^>]*>Freeze qrels</button>", page)
    assert re.search(r"</span> \d remarks left</span>", page)
    assert not Qrels.objects.exists()
    assert client.post(address, form).status_code == 302


def test_freezing_other_judgments_than_the_previewed_ones_is_refused(scored: Scene) -> None:
    batch = scored.judged("high", "low")
    client = client_of(scored, "organizer")
    form = previewed(client)
    scored.judge(batch, scored.ada, "high")

    answer = client.post(reverse("scoring:freeze", args=["arq"]), form)

    assert "changed since this preview was made" in answer.content.decode()
    assert not Qrels.objects.exists()
    form["digest"] = digest_in(answer.content.decode())
    assert client.post(reverse("scoring:freeze", args=["arq"]), form).status_code == 302
    assert Qrels.objects.get().n_judged == 3


def test_release_is_hindered_while_runs_or_judgments_come_in(scored: Scene) -> None:
    board = scored.leaderboard()
    scored.judged(*NINE)
    Qrels.objects.update(source=Qrels.Source.FROZEN)
    client, address = client_of(scored, "organizer"), reverse("scoring:release", args=[board.pk])

    refused = client.post(address, {"level": "public", "reason": "  "})

    text = refused.content.decode()
    assert "ARQ is open for runs" in text
    assert "1 batch is open" in text
    assert "Give a reason" in text
    assert "Reason to release it anyway\n</label>" in re.sub(
        r"\s*\n\s*", "\n", text
    )  # not marked as optional
    assert Leaderboard.objects.get().release == "hidden"

    client.post(address, {"level": "public", "reason": "The workshop is today."})

    assert Leaderboard.objects.get().release == "public"
    event = Event.objects.get(action="leaderboard.released")
    log = " ".join(text_of(client, reverse("tracks:history", args=["arq"])).split())
    assert "with qrels version 1</a>" in log
    assert (event.by, event.details["reason"]) == (scored.organizer, "The workshop is today.")


def test_open_batches_do_not_hinder_the_release_of_imported_qrels_but_are_named(scored: Scene) -> None:
    board = scored.leaderboard()
    batch = scored.judged(*NINE[:2])

    page = client_of(scored, "organizer").get(
        reverse("scoring:release", args=[board.pk]), {"level": "public"}
    )

    assert "ARQ is open for runs" in page.content.decode()
    assert "batch is open" not in page.content.decode()
    assert f"{batch} is still open: 2 of 9 judged" in page.content.decode()


def test_release_of_grades_of_a_machine_needs_a_reason(scored: Scene) -> None:
    board = scored.leaderboard()
    Track.objects.update(status="closed")
    machine = make_machine(scored.track, scored.organizer)
    Qrels.objects.filter(pk=board.qrels_id).update(machine=machine, machine_name="judge 1")
    client, address = client_of(scored, "organizer"), reverse("scoring:release", args=[board.pk])

    refused = client.post(address, {"level": "public"})

    assert "The qrels are the grades of the machine judge 1; no person judged." in refused.content.decode()
    assert Leaderboard.objects.get().release == "hidden"


def test_release_page_counts_the_teams_without_members_apart(scored: Scene) -> None:
    board = scored.leaderboard()
    scored.theirs.members.clear()
    team_services.add_member(team=scored.ours, user=scored.stranger)

    page = client_of(scored, "organizer").get(
        reverse("scoring:release", args=[board.pk]), {"level": "participants"}
    )

    assert "What 2 members of 1 team (1 team has no member) will see" in page.content.decode()


def test_track_with_a_released_leaderboard_is_not_opened_for_runs(scored: Scene) -> None:
    scored.leaderboard(release="participants")
    track_services.close(track=scored.track)

    answer = client_of(scored, "organizer").post(reverse("tracks:open_track", args=["arq"]))

    assert answer.status_code == 409
    assert "so its qrels are known" in answer.content.decode()


def test_archived_version_leaves_the_lists_and_nothing_else(scored: Scene) -> None:
    board = scored.leaderboard(release="public")
    client, version = client_of(scored, "organizer"), board.qrels.get_absolute_url()
    archive = reverse("scoring:archive_qrels", args=[board.qrels_id])

    client.post(archive)

    lists = {
        part: text_of(client_of(scored, part), reverse("scoring:qrels_list", args=["arq"])) for part in CAST
    }
    assert {part for part in CAST if version in lists[part]} == {"organizer"}
    assert "1 hidden version" in lists["organizer"]
    assert statuses(scored, version) == seen_by(*CAST)
    assert statuses(scored, board.get_absolute_url()) == seen_by(*CAST)

    client.post(archive)

    assert version in text_of(client_of(scored, "visitor"), reverse("scoring:qrels_list", args=["arq"]))
    actions = Event.objects.filter(action__startswith="qrels.").values_list("action", flat=True)
    assert list(actions) == ["qrels.restored", "qrels.archived", "qrels.imported"]


def test_an_organizer_freezes_scores_and_releases(scored: Scene) -> None:
    scored.judged(*NINE)
    client = client_of(scored, "organizer")

    frozen = client.post(
        reverse("scoring:freeze", args=["arq"]), previewed(client, name="first"), follow=True
    )
    asked = client.post(reverse("scoring:score", args=[Qrels.objects.get().pk]), follow=True)

    assert "Qrels version 1: first" in frozen.content.decode()
    assert "The runs are being scored" in asked.content.decode()
    board = Leaderboard.objects.get()
    assert board.job is not None

    jobs.run(board.job.pk)
    track_services.close(track=scored.track)
    batch_services.close(batch=Batch.objects.get())
    address = reverse("scoring:release", args=[board.pk])
    check = text_of(client, f"{address}?level=participants")
    released = client.post(address, {"level": "participants"}, follow=True)

    assert "1 baseline and 1 run of 1 team with the names of teams and runs" in check
    assert "9 units of 3 topics with their grades" in check
    assert "The runs of other teams by topic" in check
    for text in (
        "to the teams",
        "Ready?",
        "Fixed from now on",
        "You can hide the leaderboard again",
        "Who is notified",
    ):
        assert text in check
    assert "now visible to the track" in released.content.decode()
    assert "Your runs are marked" in text_of(client_of(scored, "member"), board.get_absolute_url())


def test_release_page_names_what_the_results_lack(scene: Scene) -> None:
    """Unjudged units of the pool, topics without qrels, and unknown documents of runs. None needs a reason."""
    run = scene.submit(scene.ours, "good", "10 é 9")
    warning = {"code": "unknown-document", "severity": "warning", "message": "m", "accepted": "a", "n": 3}
    Run.objects.filter(pk=run.pk).update(report=run.report | {"warnings": [warning]})
    track_services.close(track=scene.track)
    batch_services.close(batch=scene.judged("high", "low"))
    board = scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))
    client, address = client_of(scene, "organizer"), reverse("scoring:release", args=[board.pk])

    shown = text_of(client, f"{address}?level=public")
    released = client.post(address, {"level": "public"})

    assert "1 of 2 teams submitted runs" in shown
    assert "No unit was judged twice" in shown
    assert "7 units of the pool are unjudged" in shown
    assert "2 topics have no qrels and no effect on any mean: A.2, A.10" in shown
    assert "3 lines with documents that the collection does not have: good" in shown
    assert released.status_code == 302


@pytest.mark.parametrize(("share", "is_thin"), [(0.79, True), (0.8, False), (None, False)])
def test_release_page_and_board_mark_runs_with_few_judged_documents(
    scored: Scene, share: float | None, is_thin: bool
) -> None:
    board = scored.leaderboard()
    Evaluation.objects.filter(run__tag="good").update(judged_at_10=share)
    Evaluation.objects.exclude(run__tag="good").update(judged_at_10=0.9)
    organizer = client_of(scored, "organizer")
    best = Evaluation.objects.get(run__tag="good")

    question = text_of(organizer, f"{reverse('scoring:release', args=[board.pk])}?level=public")
    pages = [text_of(organizer, page.get_absolute_url()) for page in (board, best)]

    assert ("Less than 80 % of the top 10 is judged in 1 run: good" in question) == is_thin
    assert [('class="big warn"' in page) for page in pages] == [is_thin, is_thin]


def test_readers_of_a_board_see_the_agreement_of_the_frozen_judgments(scene: Scene) -> None:
    scene.submit(scene.ours, "good", "10 é 9")
    main = scene.judged("high", "low")
    boards = [scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))]
    scene.judge(main, scene.ada, *["low", "medium", "high"] * 2)
    second = scene.batch({scene.bob: ["A.1", "A.2"]}, kind=Batch.Kind.DUAL)
    scene.judge(second, scene.bob, "high", "low", "low", "medium", "low", "high")
    boards += [scene.leaderboard(qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer))]
    track_services.close(track=scene.track)
    Leaderboard.objects.update(release="public", released_at=timezone.now())

    pages = [text_of(client_of(scene, "stranger"), board.get_absolute_url()) for board in boards]
    shown = [" ".join(re.sub("<[^>]*>", " ", page).split()) for page in pages]
    address = reverse("scoring:leaderboard_file", args=[boards[1].pk, "json"])
    in_file = client_of(scene, "stranger").get(address).json()["qrels"]["agreement"]
    in_api = client_of(scene, "organizer").get(f"/api/v1/leaderboards/{boards[-1].pk}/").json()["agreement"]
    assert in_api == in_file

    assert "Judged by 1 person, 0 units by several Agreement not measured" in shown[0]
    assert re.search(
        r"Judged by 2 people, 6 units by several Agreement ordinal alpha 0\.\d{3}, 95 %: ", shown[1]
    )
    assert (in_file["assessors"], in_file["units"], in_file["measure"]) == (2, 6, "ordinal")
    assert 0 < in_file["alpha"] < 1


def test_a_refusal_to_freeze_is_shown_on_the_form(scene: Scene) -> None:
    response = client_of(scene, "organizer").post(
        reverse("scoring:freeze", args=["arq"]), {"pool": scene.pool.pk}
    )

    assert response.status_code == 200
    page = response.content.decode()
    assert "has enough judgments yet" in page
    assert 'id="freeze"' not in page, "nothing to choose"


def test_form_stays_if_other_judgments_could_count(scored: Scene) -> None:
    scored.judged("high", "low")
    Batch.objects.update(kind=Batch.Kind.DUAL)
    client = client_of(scored, "organizer")

    page = text_of(client, reverse("scoring:freeze", args=["arq"]))
    also = text_of(client, reverse("scoring:freeze", args=["arq"]) + "?also=dual")

    assert "has enough judgments yet" in page
    assert 'name="also" value="dual"' in page
    assert re.search(r"<b>\d judged units? of", also)


def test_pool_of_another_track_cannot_be_chosen(scene: Scene) -> None:
    scene.pool.track = Track.objects.create(slug="other", name="Other", protocol=scene.track.protocol)
    scene.pool.save()

    response = client_of(scene, "organizer").post(
        reverse("scoring:freeze", args=["arq"]), {"pool": scene.pool.pk}
    )

    assert "No pool is ready" in response.content.decode()


def upload(scene: Scene, content: bytes, **data: str) -> str:
    file = SimpleUploadedFile("official.txt", content)
    address = reverse("scoring:import_qrels", args=["arq"])
    response = client_of(scene, "organizer").post(address, {"file": file, **data}, follow=True)
    assert response.status_code == 200
    return response.getvalue().decode()


def test_an_official_file_is_imported(scene: Scene) -> None:
    page = upload(scene, QRELS, name="official")

    assert "Qrels version 1: official" in page
    assert "official.txt" in page


def test_codes_of_non_answers_are_imported_as_not_judged(scene: Scene) -> None:
    page = upload(scene, b"A.1 0 10 3\nA.1 0 9 5\nA.1 0 x 6\n")

    assert "pooled, not judged" in page
    assert list(Qrels.objects.get().entries.values_list("grade", flat=True).order_by("docno")) == [3, -1, -1]


@pytest.mark.parametrize(
    ("content", "complaints"),
    [
        (
            b"A.1 0 10 3\nA.1 0 10 3\nA.1 0 9\n",
            ["line 2: document 10 of topic A.1", "line 3: expected 4 columns"],
        ),
        (b"%PDF-1.7 \x00\xff", ["The file is a PDF document"]),
        (b"\xff\xfeA\x00", ["line 1: expected 4 columns (topic, 0, docno, grade), got 1"]),
        (b"x\n" * 50, ["lines 1, 2, 3, 4, 5 and 45 more: expected 4 columns"]),
        (
            b"A.1 0 10 3\nA.1 0 9 7\n",
            ["line 2: grade 7 is not in arqmath-2020-task1; use 0, 1, 2 or 3"],
        ),
        (b"B.1 0 10 3\n", ["1 topic of the file is not in ARQ: “B.1”"]),
        (b"A.1 0 <script>alert(1)</script> x\n", ["grade &#x27;x&#x27; is not a whole number"]),
    ],
)
def test_broken_file_is_reported_with_line_numbers(
    scene: Scene, content: bytes, complaints: list[str]
) -> None:
    page = upload(scene, content)

    for complaint in complaints:
        assert complaint in page
    assert "<script>alert" not in page
    assert not Qrels.objects.exists()


def test_lines_that_are_not_utf8_are_named_on_the_page(scene: Scene) -> None:
    page = upload(scene, "A.1 0 10 3\nA.1 0 dé 1\n".encode("latin-1"))

    assert "line 2 is not UTF-8 and is read as Windows-1252" in page


def test_a_file_that_is_too_large_is_refused(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qrels_forms, "MAX_BYTES", 10)

    assert "at most 16 MB are accepted" in upload(scene, QRELS)


def test_an_empty_file_is_refused(scene: Scene) -> None:
    assert "The submitted file is empty" in upload(scene, b"")


def test_a_refusal_to_score_is_a_409_page(scene: Scene) -> None:
    qrels = scene.qrels()

    response = client_of(scene, "organizer").post(reverse("scoring:score", args=[qrels.pk]))

    assert response.status_code == 409
    assert "ARQ has no runs to score" in response.content.decode()


def test_the_exported_qrels_are_the_recorded_bytes(scored: Scene) -> None:
    board = scored.leaderboard(release="participants")

    response = client_of(scored, "member").get(reverse("scoring:qrels_file", args=[board.qrels_id]))

    assert hashlib.sha256(response.content).hexdigest() == board.qrels.sha256
    assert response["Content-Disposition"] == 'attachment; filename="qrels.arq.v1.tsv"'


def rows_of(response_text: str, delimiter: str) -> list[dict[str, str]]:
    return list(
        csv.DictReader(
            StringIO(response_text),
            delimiter=delimiter,
            quoting=csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL,
        )
    )


def test_a_leaderboard_as_a_file_has_what_the_page_has(scored: Scene) -> None:
    board = scored.leaderboard(release="public")
    address = reverse("scoring:leaderboard_file", args=[board.pk, "tsv"])

    rows = rows_of(text_of(client_of(scored, "visitor"), address), "\t")

    assert [(row["team"], row["run"], row["kind"], row["manual"]) for row in rows] == [
        ("Ours", "good", "primary", "automatic"),
        ("Theirs", "poor", "baseline", "automatic"),
    ]
    assert list(rows[0])[8:13] == board.measures
    assert (rows[0]["topics"], rows[0]["missing"], rows[0]["judged@10"]) == ("3", "0", "0.6667")
    assert rows[0][f"{board.measures[0]} low"]
    Qrels.objects.update(n_topics=1)
    board_selectors._cells.cache_clear()
    rows = rows_of(text_of(client_of(scored, "visitor"), address), "\t")
    assert rows[0][f"{board.measures[0]} low"] == "", "nothing varies over one topic"
    assert "no mean has a confidence interval" in text_of(
        client_of(scored, "visitor"), board.get_absolute_url()
    )


def test_a_spreadsheet_gets_no_formula_and_a_tsv_the_name_itself(scored: Scene) -> None:
    scored.submit(team_services.create(track=scored.track, name="=cmd|' /C calc'!A0"), "evil", "10")
    board = scored.leaderboard(release="public")
    client = client_of(scored, "visitor")

    as_csv = rows_of(text_of(client, reverse("scoring:leaderboard_file", args=[board.pk, "csv"])), ",")
    as_tsv = rows_of(text_of(client, reverse("scoring:leaderboard_file", args=[board.pk, "tsv"])), "\t")

    assert "'=cmd|' /C calc'!A0" in {row["team"] for row in as_csv}
    assert "=cmd|' /C calc'!A0" in {row["team"] for row in as_tsv}


def test_a_team_downloads_its_own_runs_topic_by_topic(scored: Scene) -> None:
    board = scored.leaderboard(release="participants")
    address = reverse("scoring:topics_file", args=[board.pk, "tsv"])

    assert {row["run"] for row in rows_of(text_of(client_of(scored, "member"), address), "\t")} == {"good"}
    assert {row["run"] for row in rows_of(text_of(client_of(scored, "organizer"), address), "\t")} == {
        "good",
        "poor",
    }


def test_an_evaluation_shows_every_topic_and_a_chart_of_the_measure_asked_for(scored: Scene) -> None:
    evaluation = Evaluation.objects.get(leaderboard=scored.leaderboard(release="public"), run__tag="good")

    page = text_of(client_of(scored, "visitor"), evaluation.get_absolute_url() + "?measure=judged%4010")

    assert '"up": "judged@10"' in page
    assert '"labels": ["A.1", "A.2", "A.10"]' in page
    assert "Dashed line: the mean, 0.6667" in page
    assert all(f">{code}</a></th>" in page for code in scored.topics)


def test_empty_pages_name_what_appears_and_the_next_step(scene: Scene) -> None:
    board_list, qrels_list = (
        reverse(f"scoring:{name}", args=["arq"]) for name in ("leaderboards", "qrels_list")
    )

    assert "Freeze them when the assessors have judged a pool" in text_of(
        client_of(scene, "organizer"), qrels_list
    )
    assert "They appear here when the organizers release a leaderboard" in text_of(
        client_of(scene, "member"), qrels_list
    )
    assert "Runs are scored against qrels" in text_of(client_of(scene, "organizer"), board_list)
    assert "It appears here when the organizers release it" in text_of(client_of(scene, "member"), board_list)
    assert "Log in</a> to see leaderboards" in text_of(client_of(scene, "visitor"), board_list)


@pytest.mark.parametrize("name", ["leaderboards", "qrels_list"])
def test_pages_without_results_show_the_dates_of_the_track(scene: Scene, name: str) -> None:
    address = reverse(f"scoring:{name}", args=["arq"])
    before = text_of(client_of(scene, "visitor"), address)
    Milestone.objects.create(track=scene.track, title="Results released", starts_on=date(2099, 8, 1))

    pages = {person: text_of(client_of(scene, person), address) for person in ("visitor", "member")}

    assert "Results released" not in before
    assert all("Results released" in page and "2099-08-01" in page for page in pages.values())
    assert "Results released" not in text_of(client_of(scene, "organizer"), address)


def test_organizers_see_how_qrels_were_made_and_everybody_sees_dropped_topics(scored: Scene) -> None:
    scored.judged("high", "system-failure")
    client = client_of(scored, "organizer")
    client.post(reverse("scoring:freeze", args=["arq"]), previewed(client))
    board = scored.leaderboard(Qrels.objects.get(), release="public")

    for part, sees_all in (("organizer", True), ("visitor", False)):
        page = text_of(client_of(scored, part), board.qrels.get_absolute_url())
        assert "Dropped topics" in page
        assert ("System failure" in page) == sees_all
        assert ("Unjudged units by topic" in page) == sees_all


def test_a_failed_leaderboard_says_why_and_what_to_do(scored: Scene) -> None:
    run = scored.ours.runs.get()
    run.columns.storage.delete(run.columns.name)

    page = text_of(client_of(scored, "organizer"), scored.leaderboard().get_absolute_url())

    assert "The stored columns of the run good cannot be read" in page
    assert "score the runs again" in page


def test_hostile_names_are_text(scored: Scene) -> None:
    team = team_services.create(track=scored.track, name="<img src=x onerror=alert(1)>")
    scored.submit(team, "<script>alert(1)</script>", "10")
    board = scored.leaderboard(release="public")
    evaluation = board.evaluations.get(run__team=team)

    for address in (board.get_absolute_url(), evaluation.get_absolute_url()):
        page = text_of(client_of(scored, "visitor"), address)
        assert "<img src=x" not in page
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("model", ["qrels", "leaderboard", "evaluation"])
def test_admin_is_read_only(scored: Scene, model: str) -> None:
    board = scored.leaderboard()
    pk = {
        "qrels": board.qrels_id,
        "leaderboard": board.pk,
        "evaluation": board.evaluations.get(run__tag="good").pk,
    }[model]
    client = client_of(scored, "organizer")

    assert client.get(reverse(f"admin:scoring_{model}_changelist")).status_code == 200
    assert client.get(reverse(f"admin:scoring_{model}_change", args=[pk])).status_code == 200
    assert (
        client.post(reverse(f"admin:scoring_{model}_delete", args=[pk]), {"post": "yes"}).status_code == 403
    )
    assert client.get(reverse(f"admin:scoring_{model}_add")).status_code == 403


@pytest.mark.parametrize(
    ("qrels", "message"),
    [
        (b"A.1 0 nowhere 3\n", "None of the run’s documents is judged, so every value is 0."),
        (b"A.1 0 10 3\nA.2 0 nowhere 3\n", ""),
    ],
)
def test_run_without_a_judged_document_is_named_on_both_pages(
    scene: Scene, qrels: bytes, message: str
) -> None:
    scene.submit(scene.ours, "good", "10 9")
    board = scene.leaderboard(scene.qrels(qrels))
    client = client_of(scene, "organizer")

    pages = [
        text_of(client, address)
        for address in (board.get_absolute_url(), board.evaluations.get().get_absolute_url())
    ]

    assert [message in page and "every value is 0" in page for page in pages] == [bool(message)] * 2


def test_run_without_a_topic_of_the_qrels_is_named(scene: Scene) -> None:
    scene.submit_lines(scene.ours, "elsewhere", ["A.2\t10\t1\t9\telsewhere\n"])
    board = scene.leaderboard(scene.qrels(b"A.1 0 10 3\n"))

    page = text_of(client_of(scene, "organizer"), board.get_absolute_url())

    assert "None of the run’s topics is in the qrels" in page


def listed_in(client: Client, address: str) -> list[str]:
    """The tags in the table of a leaderboard."""
    table = text_of(client, address).partition("</table>")[0]
    return re.findall(r'<th scope="row" class="name">\s*(?:<a [^>]*>)?([^<\s]+)', table)


def test_long_leaderboard_is_read_page_by_page_or_whole_and_searched_without_script(
    scored: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.pages.ROWS_ON_PAGE", 1)
    address = scored.leaderboard(release="public").get_absolute_url()
    visitor = Client()
    first, second = listed_in(visitor, f"{address}?page=all")
    page = text_of(visitor, address)

    assert listed_in(visitor, address) == [first]
    assert 'href="?page=2"' in page
    assert 'href="?page=all">All 2 runs</a>' in page
    assert listed_in(visitor, f"{address}?page=2") == [second]
    assert listed_in(visitor, f"{address}?q={second.upper()}") == [second]
    assert "No run matches the search." in text_of(visitor, f"{address}?q=nothing-like-it")
    assert listed_in(visitor, f"{address}?sort=-run") == [max(first, second)]
    assert "&amp;page=all" in text_of(visitor, f"{address}?page=all")  # so that the headings order all rows


def test_team_finds_its_run_on_the_first_page_of_a_long_leaderboard(
    scored: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.pages.ROWS_ON_PAGE", 1)
    board = scored.leaderboard(release="public")
    last = board.get_absolute_url() + "?page=2"
    run = board.evaluations.get(run__tag=listed_in(Client(), last)[0]).run
    client = Client()
    client.force_login(run.team.members.first())

    page = text_of(client, board.get_absolute_url())

    assert listed_in(client, board.get_absolute_url())[0] == run.tag
    assert '<td class="rank num">2</td>' in page


def test_released_leaderboard_is_kept_for_visitors_until_something_changes(
    scored: Scene, pages_kept: None, django_assert_max_num_queries: Any
) -> None:
    board = scored.leaderboard(release="public")
    address = board.get_absolute_url()
    member, visitor = client_of(scored, "member"), Client()
    before = {part: text_of(client_of(scored, part), address) for part in CAST}

    with django_assert_max_num_queries(1):
        kept = visitor.get(address)
    known = visitor.get(address, headers={"if-none-match": kept["ETag"]})

    assert kept.content.decode() == before["visitor"]
    assert (known.status_code, known.content, kept["Cache-Control"]) == (304, b"", "private, no-cache")
    for part, text in before.items():
        assert ("Log out" in text) == (part != "visitor")
        assert ("csrf" in text.casefold()) == (part != "visitor")
        assert ("yours</span>" in text) == (part in {"member", "other"})
        assert ("Hide leaderboard" in text) == (part == "organizer"), part
    assert "no-store" in member.get(address)["Cache-Control"]

    track_services.close(track=scored.track)
    run_changes.disqualify(
        run=scored.track.runs.get(tag="good"), by=scored.organizer, reason="Trained on it."
    )
    changed = visitor.get(address, headers={"if-none-match": kept["ETag"]})
    assert changed.status_code == 200
    assert "disqualified since" in changed.content.decode().casefold()

    client_of(scored, "organizer").post(reverse("scoring:release", args=[board.pk]), {"level": "hidden"})
    assert visitor.get(address, headers={"if-none-match": changed["ETag"]}).status_code == 404


def test_kept_files_are_sent_to_those_only_who_may_get_them(
    scored: Scene, pages_kept: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = scored.leaderboard(release="participants")
    addresses = [
        reverse("scoring:leaderboard_file", args=[board.pk, "tsv"]),
        reverse("scoring:qrels_file", args=[board.qrels_id]),
    ]
    organizer, member, visitor = client_of(scored, "organizer"), client_of(scored, "member"), Client()
    contents = [organizer.get(address).content for address in addresses]
    for name in ("scoring.leaderboards.files.leaderboard_file", "scoring.qrels.selectors.qrels_tsv"):
        monkeypatch.setattr(name, None)  # nothing is made again

    assert [member.get(address).content for address in addresses] == contents
    assert [visitor.get(address).status_code for address in addresses] == [404, 404]

    organizer.post(reverse("scoring:release", args=[board.pk]), {"level": "hidden"})
    assert [member.get(address).status_code for address in addresses] == [404, 404]
