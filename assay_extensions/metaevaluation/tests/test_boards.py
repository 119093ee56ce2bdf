"""Boards of judges: comparison in a job, release, files, and known answers."""

import csv
import json
from io import BytesIO
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import LazySettings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.mail import letters
from accounts.models import Event, User
from assay.digests import sha256_of
from assay.errors import Refused
from assay.formats.qrels.reader import parse_qrels
from assay.measures.scores import ALL
from assay.nuggets.lists import Nugget
from assay_extensions.metaevaluation.scores import Scores, read_scores
from assay_extensions.metaevaluation.site import services
from assay_extensions.metaevaluation.site.models import JudgeBoard, JudgeCall, JudgeRun
from assay_extensions.metaevaluation.tests.test_judges import accept, address, client_of
from assay_extensions.metaevaluation.tests.test_qrels import AGREEMENT
from assessment.nuggets.selectors import fields_of
from config.celery import app
from jobs import services as jobs
from pooling.models import NuggetVersion, Pool, Run
from scoring.models import Evaluation, Leaderboard, Score
from scoring.qrels import services as qrels_services
from tests.helpers.factories import make_topic
from tests.scoring.conftest import Scene

pytestmark = pytest.mark.django_db

NAMES = {
    "kendall": "kendall",
    "tauap_b": "tau_ap",
    "tau_gap": "tau_gap",
    "spearman": "spearman",
    "pearson": "pearson",
}
CODES = ("A.1", "A.10", "A.2")


def submit(
    scene: Scene, data: bytes, name: str = "made.qrels", tag: str = "made", **options: object
) -> JudgeRun:
    if not JudgeCall.objects.exists():
        accept(scene)
    return services.submit(
        track=scene.track,
        team=scene.ours,
        by=scene.member,
        tag=tag,
        file=BytesIO(data),
        file_name=name,
        **options,
    )


def compare(scene: Scene, leaderboard: Leaderboard, **fields: object) -> JudgeBoard:
    """A board, requested on the page and computed by a job in this process."""
    values = {"leaderboard": leaderboard.pk, "measure": leaderboard.measures[0], "missing": "refuse"} | fields
    response = client_of(scene.organizer).post(address(scene, "compare"), values)
    assert response.status_code == 302, response.content.decode()
    board = JudgeBoard.objects.latest("pk")
    jobs.run(board.job_id)
    board.refresh_from_db()
    assert board.status == "ready", board.job.error
    return board


def page_of(board: JudgeBoard, user: User | None = None) -> str:
    response = (client_of(user) if user else Client()).get(board.get_absolute_url())
    return response.content.decode() if response.status_code == 200 else str(response.status_code)


def file_of(board: JudgeBoard, user: User) -> list[dict[str, str]]:
    path = address_of(board, "board_table", "csv")
    return list(csv.DictReader(client_of(user).get(path).content.decode("utf-8-sig").splitlines()))


def address_of(board: JudgeBoard, name: str, *arguments: object) -> str:
    return reverse(f"metaevaluation:{name}", args=[board.track.slug, board.pk, *arguments])


@pytest.fixture
def truth(scored: Scene) -> Leaderboard:
    """Three runs by people: good, middling, poor."""
    scored.submit(scored.theirs, "middling", "9 10 é")
    return scored.leaderboard()


def qrels(*grades: int) -> bytes:
    """The qrels of a judge: the grade of unit 10, 9, é for each topic."""
    return "".join(
        f"{code} 0 {docno} {grade}\n"
        for code in CODES
        for docno, grade in zip(("10", "9", "é"), grades, strict=True)
    ).encode()


def scores(measure: str = "M", **values: float) -> bytes:
    lines = [f"{run} {code} {measure} {value}\n" for run, value in values.items() for code in (*CODES, ALL)]
    return "".join(lines).encode()


def test_judges_are_ordered_by_their_agreement_with_people(scored: Scene, truth: Leaderboard) -> None:
    submit(scored, qrels(3, 0, 2), tag="fair")
    submit(scored, qrels(0, 3, 0), tag="blind")
    submit(scored, scores(good=0.1, middling=0.2, poor=0.3), "made.eval.txt", tag="backward")

    board = compare(scored, truth)

    page = page_of(board, scored.organizer)
    assert page.index(">fair</a>") < page.index(">blind</a>") < page.index(">backward</a>")
    rows = {row["judge"]: row for row in file_of(board, scored.organizer)}
    assert [rows[tag]["kendall"] for tag in ("fair", "backward")] == ["1.0000", "-1.0000"]
    assert (rows["fair"]["source"], rows["backward"]["source"]) == ("qrels", "scores")
    assert (rows["backward"]["largest drop"], rows["backward"]["run of the largest drop"]) == ("2", "good")
    result = board.results.get(judge_run__tag="fair")
    shown = client_of(scored.organizer).get(result.get_absolute_url()).content.decode()
    assert "Confusion" in shown
    assert "Place by judge" in shown


def test_runs_that_a_judge_lacks_do_what_the_organizer_chose(scored: Scene, truth: Leaderboard) -> None:
    extra = scores(good=0.3, middling=0.2, other=0.9)
    submit(scored, extra, "made.eval.txt")
    scored.submit(scored.theirs, "last", "x")
    truth = scored.leaderboard(truth.qrels)

    refused = compare(scored, truth)
    zero = compare(scored, truth, missing="zero")

    assert "2 runs are missing from made.eval.txt: last, poor" in page_of(refused, scored.organizer)
    assert not refused.results.exists()
    (row,) = file_of(zero, scored.organizer)
    assert (row["runs"], row["kendall"]) == ("4", "0.9129")


def test_only_the_chosen_topics_count(scored: Scene, truth: Leaderboard) -> None:
    lines = [
        f"{run} {code} M {value if code == 'A.1' else 1 - value}\n"
        for run, value in (("good", 0.9), ("middling", 0.5), ("poor", 0.1))
        for code in CODES
    ]
    submit(scored, "".join(lines).encode(), "made.eval.txt")
    submit(scored, qrels(3, 0, 2), tag="fair")

    whole, held_out = compare(scored, truth), compare(scored, truth, topics="A.1")

    values = [{row["judge"]: row for row in file_of(board, scored.organizer)} for board in (whole, held_out)]
    assert values[0]["made"]["kendall"] != values[1]["made"]["kendall"]
    assert [rows["made"]["topics"] for rows in values] == ["3", "1"]
    assert values[0]["fair"]["kappa"] != values[1]["fair"]["kappa"]
    assert "Topics: A.1." in page_of(held_out, scored.organizer)


def home_of(scene: Scene) -> str:
    """The checklist of the track."""
    return client_of(scene.organizer).get(scene.track.get_absolute_url()).content.decode()


def test_participants_see_no_number_before_the_release(scored: Scene, truth: Leaderboard) -> None:
    judge = submit(scored, qrels(3, 0, 2))
    board = compare(scored, truth)
    result = board.results.get()

    for user in (scored.member, scored.other, scored.ada, scored.stranger):
        client = client_of(user)
        for path in (
            board.get_absolute_url(),
            address_of(board, "board_table", "csv"),
            result.get_absolute_url(),
        ):
            assert client.get(path).status_code == 404
        assert board.get_absolute_url() not in client.get(address(scored, "judges")).content.decode()
    own = client_of(scored.member).get(judge.get_absolute_url()).content.decode()
    assert "kendall" not in own.lower()


def test_release_needs_a_reason_before_the_deadline(
    scored: Scene, truth: Leaderboard, settings: LazySettings
) -> None:
    settings.SENDS_MAIL, settings.EMAIL_BACKEND = True, "django.core.mail.backends.locmem.EmailBackend"
    mia = {"email": "mia@example.org", "is_mailed_about_runs": True}
    User.objects.filter(pk=scored.member.pk).update(**mia)
    submit(scored, qrels(3, 0, 2))
    board = compare(scored, truth)
    assert "1 judge, accepted until" in home_of(scored)
    assert "board not released" in home_of(scored)
    shown = client_of(scored.other).get(scored.track.get_absolute_url()).content.decode()
    assert f'href="{address(scored, "judges")}"' in shown
    client, path = client_of(scored.organizer), address_of(board, "release")
    question = client.get(path, {"level": "participants"}).content.decode()
    assert "a judge could be made from these numbers" in question

    refused = client.post(path, {"level": "participants"})
    client.post(path, {"level": "participants", "reason": "A test."})

    assert refused.status_code == 422
    assert "Give a reason to release it anyway." in refused.content.decode()
    assert "Board of judges" in page_of(board, scored.other)
    assert page_of(board, scored.stranger) == page_of(board) == "404"
    event = Event.objects.get(action="judge-board.released")
    assert event.details["reason"] == "A test."
    client.post(path, {"level": "hidden"})
    assert page_of(board, scored.other) == "404"
    client.post(path, {"level": "public", "reason": "Again."})
    app.loader.import_default_modules()
    letters.send_due()
    [message] = mail.outbox  # once, at the first release
    assert (message.to, message.subject) == (["mia@example.org"], "Assay: judges of ARQ")
    assert board.get_absolute_url() not in message.body
    assert "; board released" in home_of(scored)


def test_public_board_shows_no_scores_of_runs_of_a_hidden_leaderboard(
    scored: Scene, truth: Leaderboard
) -> None:
    submit(scored, scores(good=0.1, middling=0.2, poor=0.3), "made.eval.txt")
    accept(scored, hours=-1)
    board = compare(scored, truth)
    client, path = client_of(scored.organizer), address_of(board, "release")
    assert (
        "The leaderboard of people is visible to organizers only"
        in client.get(path, {"level": "public"}).content.decode()
    )
    client.post(path, {"level": "public"})
    result = board.results.get()

    hidden = [
        Client().get(path).content.decode() for path in (board.get_absolute_url(), result.get_absolute_url())
    ]
    lines = Client().get(address_of(board, "board_table", "tsv")).content.decode()
    Leaderboard.objects.update(release="public", released_at=timezone.now())
    shown = client_of(scored.stranger).get(result.get_absolute_url()).content.decode()

    assert "2 places" in hidden[0]
    assert all(word not in text for text in (*hidden, lines) for word in ("good", "Place by judge"))
    assert "Place by judge" in shown


def test_withdrawn_and_later_judges_are_named_before_the_release(scored: Scene, truth: Leaderboard) -> None:
    first = submit(scored, qrels(3, 0, 2), tag="first")
    board = compare(scored, truth)
    submit(scored, qrels(3, 1, 2), tag="second")
    services.withdraw(judge_run=first, by=scored.member)

    page = client_of(scored.organizer).get(address_of(board, "release"), {"level": "public"}).content.decode()

    assert "second: submitted after the comparison." in page
    assert "1 judge was withdrawn or replaced" in page


def banks(importance: str, *texts: str) -> bytes:
    """A list of nuggets of each topic."""
    nuggets = [{"text": text, "importance": importance} for text in texts]
    return "".join(json.dumps({"qid": code, "nuggets": nuggets}) + "\n" for code in CODES).encode()


def test_nuggets_of_judges_are_compared_with_those_of_people(scored: Scene) -> None:
    scored.submit(scored.theirs, "middling", "9 10 é")
    scored.judged(*["high", "low", "not-relevant"] * 3)
    people = [Nugget("Owls nest in old barns", "vital"), Nugget("Owls hunt at night", "okay")]
    for topic in scored.topics.values():
        NuggetVersion.objects.create(
            topic=topic,
            version=1,
            nuggets=[fields_of(nugget) for nugget in people],
            frozen_by=scored.organizer,
        )
    versions = dict.fromkeys(scored.topics, 1)
    Pool.objects.filter(pk=scored.pool.pk).update(nuggets=versions)
    truth = scored.leaderboard(qrels_services.freeze_judgments(pool=scored.pool, by=scored.organizer))
    submit(scored, banks("vital", "in old barns owls nest", "rain"), "made.nuggets.jsonl", tag="half")
    submit(scored, banks("okay", "rain"), "made.nuggets.jsonl", tag="none")

    board = compare(scored, truth)

    page = page_of(board, scored.organizer)
    assert page.index(">half</a>") < page.index(">none</a>")
    half, none = (row for row in file_of(board, scored.organizer))
    shares = [
        f"nuggets {name}"
        for name in (
            "share_of_vital_found",
            "share_found",
            "share_of_judge_found",
            "share_of_same_importance",
        )
    ]
    assert [half[name] for name in shares] == ["1.0000", "0.5000", "0.5000", "1.0000"]
    assert [none[name] for name in shares] == ["0.0000", "0.0000", "0.0000", ""]
    assert [half["nuggets people"], half["nuggets judge"], half["runs"]] == ["6", "6", "0"]
    shown = client_of(scored.organizer).get(board.results.get(judge_run__tag="half").get_absolute_url())
    assert "Nuggets by topic" in shown.content.decode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"measure": "P@5"}, "Choose one of the list"),
        ({"topics": "A.7"}, "not among the topics of ARQ"),
        ({"missing": "guess"}, "Choose one of the list"),
        ({"leaderboard": 0}, "Choose one of the list"),
    ],
)
def test_wrong_choice_for_a_board_is_refused(
    scored: Scene, truth: Leaderboard, change: dict[str, object], message: str
) -> None:
    submit(scored, qrels(3, 0, 2))
    values = {"leaderboard": truth.pk, "measure": truth.measures[0], "missing": "refuse"} | change

    response = client_of(scored.organizer).post(address(scored, "compare"), values)

    assert response.status_code == 422
    assert message in response.content.decode()
    assert not JudgeBoard.objects.exists()


def test_board_needs_judges_and_is_computed_once_at_a_time(scored: Scene, truth: Leaderboard) -> None:
    values = {"leaderboard": truth.pk, "measure": truth.measures[0], "missing": "refuse"}
    client, path = client_of(scored.organizer), address(scored, "compare")
    none = client.post(path, values).content.decode()
    submit(scored, qrels(3, 0, 2))
    client.post(path, values)

    second = client.post(path, values).content.decode()

    assert "ARQ has no judges yet." in none
    assert "The judges are already being compared." in second


def people(scene: Scene, scores: Scores, name: str = "nDCG'@10") -> Leaderboard:
    """A leaderboard with the scores of people, as if its runs had been scored."""
    for code in sorted(scores.topics):
        make_topic(scene.track, code)
    accept(scene, topics=sorted(scores.topics))
    board = Leaderboard.objects.create(
        track=scene.track, qrels=scene.qrels(), protocol_digest="d" * 64, measures=[name], average="judged",
        status="ready", seed=1, created_by=scene.organizer,
    )  # fmt: skip
    for run in scores.runs:
        row = Run.objects.create(
            track=scene.track, team=scene.theirs, tag=run, kind="primary", file_name=run, original="x", columns="x",
            sha256=sha256_of(run.encode()), n_lines=1, n_topics=1, submitted_by=scene.other,
        )  # fmt: skip
        evaluation = Evaluation.objects.create(
            leaderboard=board, run=row, run_sha256="0" * 64, n_topics=8, n_missing=0
        )
        values = scores.by_topic.get(run, {}) | ({ALL: scores.means[run]} if run in scores.means else {})
        Score.objects.bulk_create(
            Score(evaluation=evaluation, topic=topic, measure=name, value=value)
            for topic, value in values.items()
        )
    return board


def check_file(board: JudgeBoard, user: User, expected: dict[str, dict[str, float | None]]) -> None:
    """The CSV of the page has the known answers, to its four decimals."""
    rows = {row["measure"]: row for row in file_of(board, user)}
    assert rows.keys() == expected.keys()
    for measure, answers in expected.items():
        for key, value in answers.items():
            name, at, k = key.partition("@")
            if value is not None:
                assert rows[measure][NAMES[name] + at + k] == f"{value:.4f}", (measure, key)


def test_board_has_the_answers_of_auto_judge_evaluate(scene: Scene, data: Path) -> None:
    folder = data / "judges" / "metaeval"
    (truth,) = read_scores((folder / "truth.eval.txt").read_bytes(), "truth")
    leaderboard = people(scene, truth)
    for name in ("judge", "judge-missing", "judge-constant"):
        submit(scene, (folder / f"{name}.eval.txt").read_bytes(), f"{name}.eval.txt", tag=name)
    answers = json.loads((folder / "answers.json").read_text())

    refused = compare(scene, leaderboard)
    common = compare(scene, leaderboard, missing="common")

    of_judges = {
        name.removeprefix("PEOPLE / "): values for name, values in answers["judge on_missing=error"].items()
    }
    rows = file_of(refused, scene.organizer)
    constant: dict[str, dict[str, float | None]] = {
        row["measure"]: {} for row in rows if row["judge"] == "judge-constant"
    }
    check_file(refused, scene.organizer, of_judges | constant)
    assert [row["tag"] for row in refused.left_out] == ["judge-missing"]
    (row,) = [row for row in file_of(common, scene.organizer) if row["judge"] == "judge-missing"]
    (expected,) = answers["judge-missing on_missing=skip"].values()
    assert row["kendall"] == f"{expected['kendall']:.4f}"
    (row,) = [row for row in rows if row["judge"] == "judge-constant"]
    assert row["kendall"] == row["tau_ap"] == row["tau_gap"] == ""


def test_board_of_a_real_judge_shows_that_it_is_worse_among_the_best_runs(scene: Scene, data: Path) -> None:
    folder = data / "judges" / "dl"
    (truth,) = read_scores((folder / "dl2019.people.eval.txt").read_bytes(), "truth")
    leaderboard = people(scene, truth)
    judge = (folder / "dl2019.machine.eval.txt").read_bytes()
    submit(scene, judge, "machine.eval.txt", tag="syndl")

    board = compare(scene, leaderboard)

    (row,) = file_of(board, scene.organizer)
    answers = {
        "kendall": 0.866722, "spearman": 0.968261, "tau_ap": 0.807618, "tau_gap": 0.952947, "kendall@10": 0.735681,
    }  # fmt: skip
    for name, value in answers.items():
        assert row[name] == f"{value:.4f}"
    assert (row["in both top 10"], row["largest drop"]) == ("9", "6")
    page = page_of(board, scene.organizer)
    assert page.index("0.867") < page.index("0.736")


def test_board_has_the_agreement_of_people_and_a_real_model(scene: Scene, data: Path) -> None:
    """TREC RAG 2025: 5,163 pairs; the answers are those of irrCAC and qrel-evaluate."""
    folder = data / "judges" / "rag25"
    columns = parse_qrels((folder / "people.qrels").read_bytes())
    for code in columns.topics.tolist():
        make_topic(scene.track, code)
    accept(scene, topics=columns.topics.tolist())
    stored = scene.track.protocol
    perfect = '[[judging.grade]]\nkey = "perfect"\nvalue = 4\nlabel = "Perfect"\ndefinition = "All."\n\n'
    stored.text = stored.text.replace("[[judging.grade]]", f"{perfect}[[judging.grade]]", 1)
    stored.save()
    scene.track.refresh_from_db()
    qrels_version = qrels_services.import_file(
        track=scene.track, columns=columns, file_name="people.qrels", by=scene.organizer
    )
    board_of_people = Leaderboard.objects.create(
        track=scene.track, qrels=qrels_version, protocol_digest="d" * 64, measures=["nDCG'"], average="judged",
        status="ready", seed=1, created_by=scene.organizer,
    )  # fmt: skip
    submit(scene, (folder / "machine.qrels").read_bytes(), "machine.qrels", tag="umbrela2")

    board = compare(scene, board_of_people)

    (row,) = file_of(board, scene.organizer)
    for name, value in AGREEMENT.items():
        assert row[name] == f"{value:.4f}"
    result = client_of(scene.organizer).get(board.results.get().get_absolute_url()).content.decode()
    assert "5,163" in result
    assert "0.337" in page_of(board, scene.organizer)


def test_judges_of_blinded_runs_name_them_by_pseudonyms(scored: Scene, truth: Leaderboard) -> None:
    names = {"good": "anon-r2", "middling": "anon-r1", "poor": "anon-r3"}
    blinded = {"map": {"key": "k", "runs": names}, "created_by": scored.organizer}
    apps.get_model("blinding.Blinding").objects.create(track=scored.track, **blinded)
    with pytest.raises(Refused, match="unknown run good"):
        submit(scored, scores(good=0.3), "made.eval.txt")
    submit(scored, scores(**{"anon-r2": 0.3, "anon-r1": 0.2, "anon-r3": 0.1}), "made.eval.txt")

    board = compare(scored, truth)

    (row,) = file_of(board, scored.organizer)
    assert (row["runs"], row["kendall"]) == ("3", "1.0000")
    result = client_of(scored.organizer).get(board.results.get().get_absolute_url()).content.decode()
    assert "middling" in result
