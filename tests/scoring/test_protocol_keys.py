"""Keys of a protocol that concern qrels and scoring change what the pages and their files contain.

`assay/protocols/test_effects.py` names the test of each key; those of other keys are where their pages have tests.
"""

import csv
from collections.abc import Mapping
from html import unescape
from io import StringIO
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from assay.protocols.loader import load_protocol
from assessment.judgments import services as judgment_services
from jobs import services as jobs
from pooling.models import Pool, PoolEntry, PoolMember
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels, Score
from tests.helpers.judging import accept
from tests.helpers.qrels_pages import freeze_on_page
from tests.scoring.conftest import Scene, build_scene
from tests.scoring.evaluations.test_stored_runs import FORMULA_RUN, board_of, formula_team, frozen, submitted
from tracks.models import Assessor, Topic

pytestmark = pytest.mark.django_db


def change(scene: Scene, old: str, new: str) -> None:
    """Replace a text in the protocol of the scene."""
    stored = scene.track.protocol
    assert old in stored.text
    stored.text = stored.text.replace(old, new)
    stored.save(update_fields=["text"])


def organizer(scene: Scene) -> Client:
    client = Client()
    client.force_login(scene.organizer)
    return client


def freeze(scene: Scene) -> list[str]:
    """Freeze on the page; returns the files of the versions, by number."""
    client = organizer(scene)
    freeze_on_page(client, scene.pool)
    versions = Qrels.objects.order_by("version")
    files = [client.get(reverse("scoring:qrels_file", args=[version.pk])) for version in versions]
    return [
        b"".join(file.streaming_content).decode() if file.streaming else file.content.decode()
        for file in files
    ]


def grades(file: str) -> list[tuple[str, str, str]]:
    return [(topic, docno, grade) for topic, _, docno, grade in csv.reader(StringIO(file), delimiter="\t")]


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("", {"A.1", "A.10", "A.2"}),
        ("min_relevant = 2", {"A.1", "A.2"}),
        ("min_relevant = 2\nrelevant_from = 2", {"A.1"}),
    ],
)
def test_topics_with_fewer_relevant_units_are_dropped(rule: str, kept: set[str]) -> None:
    scene = build_scene()
    change(scene, 'aggregate = "single"', f'aggregate = "single"\n{rule}')
    scene.judged("high", "high", "low", "medium", "low", "low", "low", *2 * ["not-relevant"])

    [file] = freeze(scene)

    assert {topic for topic, *_ in grades(file)} == kept


@pytest.mark.parametrize("joins", [True, False])
def test_citations_in_topics_join_the_judged_ones(joins: bool) -> None:
    scene = build_scene()
    cite = '<cite rel="high" thread="t" post="p1" offset="7" length="9">owls</cite>'
    Topic.objects.filter(code="A.1").update(source=f'<topic number="A.1"><rules>{cite}</rules></topic>')
    if joins:
        change(scene, 'aggregate = "single"', 'aggregate = "single"\ntopic_citations = true')
    scene.judged(*9 * ["low"])

    [file] = freeze(scene)

    assert [row for row in grades(file) if row[1] == "t:p1:7:9"] == [("A.1", "t:p1:7:9", "3")] * joins


@pytest.mark.parametrize(("aggregate", "grade"), [("sum", "3"), ("maximum", "2")], ids=["sum", "maximum"])
@pytest.mark.parametrize("exported", ["true", "false"])
def test_two_judges_become_one_grade_and_versions_of_their_groups(
    aggregate: str, grade: str, exported: str
) -> None:
    scene = build_scene("ntcir-12-wikipedia")
    change(scene, 'aggregate = "sum"', f'aggregate = "{aggregate}"')
    if aggregate == "maximum":  # whose grades end at 2
        change(scene, "rel=3", "rel=2")
        change(scene, "relevant_from = 3", "relevant_from = 2")
    change(scene, "export_groups = true", f"export_groups = {exported}")
    people = ((scene.ada, "graduate", "relevant"), (scene.bob, "undergraduate", "partially-relevant"))
    for user, group, _ in people:
        Assessor.objects.filter(user=user).update(group=group)
    batch = scene.batch({scene.ada: ["A.1"], scene.bob: ["A.1"]})
    for user, _, choice in people:
        scene.judge(batch, user, *3 * [choice])

    files = freeze(scene)

    expected = [grade, "2", "1"] if exported == "true" else [grade]
    assert [{row[2] for row in grades(file)} for file in files] == [{each} for each in expected]


def scored(scene: Scene, qrels: bytes) -> tuple[Leaderboard, list[dict[str, str]]]:
    """Score the runs on the page of a version; returns the board and the rows of its file."""
    client = organizer(scene)
    assert client.post(reverse("scoring:score", args=[scene.qrels(qrels).pk])).status_code == 302
    board = Leaderboard.objects.get()
    jobs.run(board.job_id)  # type: ignore[arg-type]
    file = client.get(reverse("scoring:leaderboard_file", args=[board.pk, "csv"]))
    text = b"".join(file.streaming_content) if file.streaming else file.content
    return board, list(csv.DictReader(StringIO(text.decode())))


@pytest.mark.parametrize(
    ("rules", "precision"),
    [
        ("judged_only = true\nrelevant_from = 2\n", 2 / 3),
        ("relevant_from = 2\n", 1 / 2),
        ("judged_only = true\nrelevant_from = 1\n", 1),
    ],
)
def test_curves_of_a_run_follow_the_relevant_grade_and_leave_unjudged_documents_out(
    rules: str, precision: float
) -> None:
    scene = build_scene()
    change(scene, "judged_only = true\nrelevant_from = 2\n", rules)
    scene.submit(scene.ours, "run", "unjudged 10 é 9")

    board, _ = scored(scene, "A.1 0 10 1\nA.1 0 9 3\nA.1 0 é 2\n".encode())

    html = organizer(scene).get(board.evaluations.get().get_absolute_url()).content.decode()
    _, _, tables = html.partition("Values of both curves")
    by_recall, _, _ = tables.partition("Precision at cutoffs")
    assert f">{precision:.4f}<" in by_recall


@pytest.mark.parametrize(("average", "value"), [("judged", "0.5000"), ("common", "1.0000")])
def test_average_is_over_the_judged_topics_or_over_those_of_the_run(average: str, value: str) -> None:
    scene = build_scene()
    change(scene, 'average = "judged"', f'average = "{average}"')
    scene.submit_lines(scene.ours, "run", ["A.1\t10\t1\t1.0\trun\n"])

    board, [row] = scored(scene, b"A.1 0 10 3\nA.2 0 10 3\n")

    assert row[board.measures[1]] == value


@pytest.mark.parametrize(("duplicates", "value"), [("true", "0.8333"), ("false", "1.0000")])
def test_repeated_near_duplicate_is_a_false_alarm(duplicates: str, value: str) -> None:
    scene = build_scene()
    change(scene, 'average = "judged"', f'average = "judged"\nduplicates_are_false_alarms = {duplicates}')
    entry = scene.pool.entries.get(topic__code="A.1", docno="10")
    PoolMember.objects.bulk_create(PoolMember(entry=entry, docno=docno) for docno in ("10", "10-again"))
    scene.submit(scene.ours, "run", "10 10-again 9")

    board, [row] = scored(scene, b"A.1 0 10 3\nA.1 0 9 3\n")

    assert row[board.measures[1]] == value


def test_a_near_duplicate_that_a_top_up_pool_adds_is_scored_by_a_version_of_its_own() -> None:
    scene = build_scene()
    change(scene, 'average = "judged"', 'average = "judged"\nduplicates_are_false_alarms = true')
    scene.judged("high", *["not-relevant"] * 8)
    freeze(scene)
    made = {"track": scene.track, "protocol": scene.track.protocol, "created_by": scene.organizer, "seed": 1}
    late = Pool.objects.create(name="Late", tops_up=scene.pool, status=Pool.Status.READY, **made)
    entry = PoolEntry.objects.create(pool=late, topic=scene.topics["A.1"], docno="10", position=0)
    PoolMember.objects.bulk_create(PoolMember(entry=entry, docno=docno) for docno in ("10", "10-again"))
    scene.submit(scene.ours, "run", "10-again")

    freeze_on_page(organizer(scene), late)
    with pytest.raises(AssertionError, match="identical to version 2"):
        freeze_on_page(organizer(scene), late)

    first, second = Qrels.objects.order_by("version")
    boards = [scene.leaderboard(qrels) for qrels in (first, second)]
    values = [
        Score.objects.get(evaluation__leaderboard=board, topic="A.1", measure="nDCG'").value
        for board in boards
    ]
    assert first.sha256 == second.sha256
    assert values == [0.0, 1.0]


@pytest.mark.parametrize(
    ("old", "new", "columns"),
    [
        ("[scoring]", "[scoring]", ["nDCG'", "AP(rel=2)'", "P(rel=2)@10'"]),
        ('"AP(rel=2)\'", ', "", ["nDCG'", "P(rel=2)@10'"]),
    ],
)
def test_columns_of_the_leaderboard_are_the_measures(old: str, new: str, columns: list[str]) -> None:
    scene = build_scene()
    change(scene, old, new)
    scene.submit(scene.ours, "run", "10 9")

    _, [row] = scored(scene, b"A.1 0 10 3\n")

    assert [name for name in row if name in {"nDCG'", "AP(rel=2)'", "P(rel=2)@10'"}] == columns


@pytest.mark.parametrize(("rule", "tags"), [("", {"a", "b"}), ("scored = false", {"a"})])
def test_leaderboard_has_the_runs_of_the_kinds_that_are_scored(rule: str, tags: set[str]) -> None:
    scene = build_scene()
    change(scene, "depth = 20", f"depth = 20\n{rule}")
    scene.submit(scene.ours, "a", "10 9")
    scene.submit(scene.ours, "b", "9 10", kind="alternate")

    _, rows = scored(scene, b"A.1 0 10 3\n")

    assert {row["run"] for row in rows} == tags


@pytest.mark.parametrize(("codes", "grades_shown"), [(True, {"3", "-1"}), (False, set())])
def test_code_of_a_non_answer_is_imported_as_not_judged_and_is_an_error_without_the_key(
    codes: bool, grades_shown: set[str]
) -> None:
    scene = build_scene()
    if not codes:
        change(scene, "qrels_code = 5", "")
        change(scene, "qrels_code = 6", "")
    file = SimpleUploadedFile("qrels.txt", b"A.1 0 10 3\nA.1 0 9 5\nA.1 0 e 6\n")

    page = organizer(scene).post(reverse("scoring:import_qrels", args=[scene.track.slug]), {"file": file})

    assert ("grade 5 is not in arqmath-2020-task1" in unescape(page.content.decode())) == (not codes)
    files = [
        organizer(scene).get(reverse("scoring:qrels_file", args=[version.pk])).content.decode()
        for version in Qrels.objects.all()
    ]
    assert {row[2] for text in files for row in grades(text)} == grades_shown


@pytest.mark.parametrize(("collapsed", "average_precision"), [("true", "0.5000"), ("false", "0.0000")])
def test_instances_of_a_formula_are_scored_as_one_unit(collapsed: str, average_precision: str) -> None:
    """The qrels name visual ids. The second formula of the run, after two instances of the first, is relevant."""
    team = formula_team("arqmath-2021-task2")
    stored = team.track.protocol
    stored.text = stored.text.replace("collapse_instances = true", f"collapse_instances = {collapsed}")
    stored.save(update_fields=["text"])
    submitted(team, FORMULA_RUN)
    board = board_of(frozen(team, b"B.1 0 v1 0\nB.1 0 v2 3\n"))
    client = Client()
    client.force_login(board.created_by)

    file = client.get(reverse("scoring:leaderboard_file", args=[board.pk, "csv"]))

    [row] = csv.DictReader(StringIO(file.content.decode()))
    assert row["AP(rel=2)'"] == average_precision


# -- sets of qrels

HIGH = ("highly-relevant", {"quality": "high", "stance": "pro"})
LOW = ("relevant", {"quality": "low", "stance": "con"})
FAIR = ("relevant", {"quality": "sufficient", "stance": "con"})
NONE: tuple[str, Mapping[str, str]] = ("not-relevant", {})


def arguments(*judgments: tuple[str, Mapping[str, str]]) -> Scene:
    """A lab with two scales and a stance, whose first documents are judged: topics by code, units as in `UNITS`."""
    scene = build_scene("trec-adhoc")
    stored = scene.track.protocol
    stored.text = load_protocol("assay/samples/arguments-lab.toml").text
    stored.save(update_fields=["text"])
    batch = scene.batch({scene.ada: list(scene.topics)})
    for choice, answers in judgments:
        task = accept(batch, scene.ada)
        judgment_services.submit(task=task, choice=choice, answers=answers, request_id=uuid4())
    return scene


USUAL = [("10", "2"), ("9", "1"), ("é", "0")]
QUALITY = 'question = "quality"\n'


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("otherwise = 0                   # of", "# of", USUAL[:2]),
        ('key = "high", value = 2', 'key = "high", value = 5', [("10", "5"), *USUAL[1:]]),
        (QUALITY, f"{QUALITY}min_relevant = 2\n", USUAL),
        (QUALITY, f"{QUALITY}min_relevant = 3\n", []),
        (QUALITY, f"{QUALITY}min_relevant = 2\nrelevant_from = 2\n", []),
        (QUALITY, f'{QUALITY}only = ["stance:con"]\n', [("10", "0"), *USUAL[1:]]),
        (QUALITY, 'only = ["stance:pro"]\n', [("10", "2"), ("9", "0"), ("é", "0")]),
        (
            QUALITY,
            f"{QUALITY}grades = {{ high = 7, sufficient = 3 }}\n",
            [("10", "7"), ("9", "3"), ("é", "0")],
        ),
        (
            QUALITY,
            f'{QUALITY}rule = [{{ when = ["relevant"], grade = 4 }}]\n',
            [("10", "2"), ("9", "4"), ("é", "0")],
        ),
    ],
)
def test_set_has_the_grades_of_its_rules(old: str, new: str, expected: list[tuple[str, str]]) -> None:
    scene = arguments(HIGH, FAIR, NONE)
    change(scene, '"quality:P@5", ', "")  # it counts from grade 1
    change(scene, old, new)

    files = freeze(scene)

    of_sets = Qrels.objects.filter(report__has_key="set").values_list("report__set", "version")
    versions = dict(of_sets)
    rows = grades(files[versions["quality"] - 1]) if "quality" in versions else []
    assert [row[1:] for row in rows] == expected
    assert [row[1:] for row in grades(files[0])] == USUAL


@pytest.mark.parametrize(("aggregate", "grade"), [("median", "0"), ("mean", "1")])
def test_judgments_of_several_assessors_become_one_grade_of_a_set(aggregate: str, grade: str) -> None:
    scene = arguments()
    change(scene, 'layout = "topic-document"', 'layout = "topic-document"\njudges = 2')
    change(scene, 'question = "quality"\n', f'question = "quality"\naggregate = "{aggregate}"\n')
    change(scene, 'question = "stance"\n', 'question = "stance"\naggregate = "majority"\n')
    change(scene, "otherwise = 0\n", 'aggregate = "majority"\notherwise = 0\n')
    change(scene, "[scoring]", '[qrels]\naggregate = "majority"\n\n[scoring]')
    batch = scene.batch({scene.ada: ["A.1"], scene.bob: ["A.1"]})
    for assessor, (choice, answers) in ((scene.ada, HIGH), (scene.bob, LOW)):
        task = accept(batch, assessor)
        judgment_services.submit(task=task, choice=choice, answers=answers, request_id=uuid4())
    client = organizer(scene)

    freeze_on_page(client, scene.pool)

    [version] = Qrels.objects.filter(report__set="quality")
    file = client.get(reverse("scoring:qrels_file", args=[version.pk]))
    assert f"A.1\t0\t10\t{grade}" in b"".join(file).decode()


def test_each_set_is_scored_with_its_measures_and_shown_side_by_side() -> None:
    scene = arguments(HIGH, LOW, NONE)
    change(scene, 'title = "Quality"', 'title = "Writing"')
    preview = organizer(scene).get(reverse("scoring:freeze", args=[scene.track.slug])).content.decode()
    assert "Writing: 3 judged units, in a version of its own" in preview
    freeze(scene)
    scene.submit_lines(scene.ours, "good", ["A.1 Q0 10 1 9 good\n", "A.1 Q0 9 2 8 good\n"])
    scene.submit_lines(scene.theirs, "poor", ["A.1 Q0 é 1 9 poor\n", "A.1 Q0 9 2 8 poor\n"])
    whole = Qrels.objects.get(version=1)

    board = leaderboard_services.request_with_parts(qrels=whole, by=scene.organizer, seed=1)
    for each in Leaderboard.objects.all():
        assert each.job is not None
        jobs.run(each.job.pk)

    boards = {each.qrels.report.get("set", ""): each.measures for each in Leaderboard.objects.all()}
    assert boards == {
        "": ["nDCG@5", "P@5"],
        "quality": ["nDCG@5", "P@5"],
        "stance": ["P@5"],
        "good-pro": ["nDCG@5"],
    }
    page = organizer(scene).get(reverse("scoring:groups", args=[board.pk])).content.decode()
    assert all(f">{name}<" in page for name in ("Writing", "Stance taken", "Good arguments for it"))
    side_by_side = organizer(scene).get(reverse("scoring:groups_file", args=[board.pk]))
    rows = list(csv.DictReader(StringIO(b"".join(side_by_side).decode("utf-8-sig"))))
    values = {(row["run"], row["group"], row["measure"]): row["value"] for row in rows}
    assert values["good", "Writing", "nDCG@5"] == "1.0000"
    assert values["poor", "Writing", "nDCG@5"] == "0.0000"
    assert values["poor", "Stance taken", "P@5"] == "0.2000"
    version = Qrels.objects.get(report__set="quality")
    shown = organizer(scene).get(version.get_absolute_url()).content.decode()
    assert "This is the set <em>quality</em>" in shown
    assert "Sufficient" not in shown
    assert "High" in shown
