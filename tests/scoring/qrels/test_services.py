import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from assay.cli.main import main
from assay.errors import Refused
from assay.formats.qrels.reader import format_qrels, parse_qrels
from assay.protocols.loader import shipped_text
from assay.protocols.schema import QrelsRules
from assay.qrels.freezing import Undecided, Unit, Vote, grade_units
from assay_extensions.analyses.site import services as analysis_services
from assessment.judgments import services as judgment_services
from assessment.models import Batch
from assessment.planning import services as assignment_services
from corpus.models import Formula
from jobs import services as jobs
from pooling.models import Pool
from scoring.errors import QrelsRefused
from scoring.leaderboards import services as leaderboard_services
from scoring.models import Leaderboard, Qrels, QrelsEntry
from scoring.qrels import selectors as qrels_selectors
from scoring.qrels import services as qrels_services
from scoring.qrels.selectors import group_versions, qrels_tsv
from tests.helpers.database import guarded
from tests.helpers.factories import make_answer, make_collection, make_document, make_topic, make_track
from tests.helpers.formula_scene import build_formula_scene
from tests.helpers.judging import accept, judge, make_machine
from tests.helpers.real_files import real_qrels
from tests.scoring.conftest import Scene, build_scene
from tracks.admin import AssessorForm
from tracks.assessors.services import check_group
from tracks.models import Assessor, Download, StoredProtocol

NINE = ["high", "low", "not-relevant", "medium", "medium", "low", "high", "high", "not-relevant"]


def lines(qrels: Qrels) -> list[str]:
    return qrels_selectors.qrels_tsv(qrels).decode().splitlines()


def grade_of(qrels: Qrels, topic: str, docno: str) -> int | None:
    return (
        QrelsEntry.objects.filter(qrels=qrels, topic=topic, docno=docno)
        .values_list("grade", flat=True)
        .first()
    )


def test_judgments_become_grades_in_the_order_of_bytes(scene: Scene) -> None:
    scene.judged(*NINE)

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer, name="first")

    assert lines(qrels) == [
        "A.1\t0\t10\t3",
        "A.1\t0\t9\t1",
        "A.1\t0\té\t0",
        "A.10\t0\t10\t3",
        "A.10\t0\t9\t3",
        "A.10\t0\té\t0",
        "A.2\t0\t10\t2",
        "A.2\t0\t9\t2",
        "A.2\t0\té\t1",
    ]
    assert (qrels.version, qrels.n_topics, qrels.n_judged, qrels.name) == (1, 3, 9, "first")


def test_the_export_has_the_recorded_sha256_every_time(scene: Scene) -> None:
    scene.judged(*NINE)

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    for _ in range(2):
        assert hashlib.sha256(qrels_selectors.qrels_tsv(qrels)).hexdigest() == qrels.sha256


def test_a_version_records_what_it_was_made_from(scene: Scene) -> None:
    scene.judged(*NINE)

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert qrels.protocol_digest == scene.track.protocol.digest
    assert qrels.report["inputs"] == {
        "pool": "Pool 1",
        "pool_sha256": "f" * 64,
        "seed": 7,
        "runs": [],
        "tops_up": [],
    }


def test_non_answers_never_become_grades_and_are_named(scene: Scene) -> None:
    scene.judged("high", "system-failure", "do-not-know")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert lines(qrels) == ["A.1\t0\t10\t3"]
    assert qrels.report["non_answers"] == [
        {"topic": "A.1", "docno": "9", "choice": "system-failure"},
        {"topic": "A.1", "docno": "é", "choice": "do-not-know"},
    ]


def test_unjudged_units_are_counted_and_named(scene: Scene) -> None:
    scene.judged("high", "low")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert qrels.report["unjudged"]["n"] == 7
    assert qrels.report["unjudged"]["topics"] == {"A.1": 1, "A.10": 3, "A.2": 3}
    assert qrels.report["unjudged"]["first"][0] == ["A.1", "é"]
    assert [row["topic"] for row in qrels.report["dropped"]] == ["A.2", "A.10"]


def test_topics_with_too_few_relevant_units_are_dropped_and_named(db: None) -> None:
    scene = build_scene("arqmath-2021-task1")
    scene.judged("high", "medium", "low", "high", "low", "low", "low", "low", "low")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert {line.split("\t")[0] for line in lines(qrels)} == {"A.1"}
    assert qrels.report["dropped"] == [
        {"topic": "A.2", "judged": 3, "relevant": 1},
        {"topic": "A.10", "judged": 3, "relevant": 0},
    ]


def test_a_revision_counts_and_what_it_replaced_does_not(scene: Scene) -> None:
    batch = scene.judged(*NINE)
    judgment = batch.judgments.get(docno="10", topic=scene.topics["A.1"])
    judgment_services.submit(
        task=judgment.task, choice="low", request_id=UUID("6a5f3c9e-8d5f-4a53-9d6e-0a57a86f1f00")
    )

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert grade_of(qrels, "A.1", "10") == 1


def test_an_adjudication_counts_before_a_main_judgment(scene: Scene) -> None:
    scene.judged(*NINE)
    scene.judge(scene.batch({scene.bob: ["A.1"]}, Batch.Kind.ADJUDICATION), scene.bob, "low", "low", "low")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert grade_of(qrels, "A.1", "10") == 1
    assert qrels.report["decided"] == {"by adjudication": 3}


@pytest.mark.parametrize("kind", [Batch.Kind.TRAINING, Batch.Kind.DUAL])
def test_training_and_dual_judgments_count_only_on_request(scene: Scene, kind: str) -> None:
    scene.judged("high")
    scene.judge(scene.batch({scene.bob: ["A.1"]}, kind), scene.bob, "low", "low", "low")

    without = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    asked_for = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer, also=[kind])

    assert lines(without) == ["A.1\t0\t10\t3"]
    assert without.report["left_out"] == {kind: 3}
    assert lines(asked_for) == ["A.1\t0\t10\t3", "A.1\t0\t9\t1", "A.1\t0\té\t1"]


def test_what_was_judged_before_a_topic_changed_hands_stays_judged(scene: Scene) -> None:
    batch = scene.judged("high")
    assignment_services.reassign(
        batch=batch, topic=scene.topics["A.1"], from_assessor=scene.ada, to_assessor=scene.bob
    )
    scene.judge(batch, scene.bob, "low", "low")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert lines(qrels) == ["A.1\t0\t10\t3", "A.1\t0\t9\t1", "A.1\t0\té\t1"]


def test_assessors_who_contradict_one_another_are_refused_with_the_units(scene: Scene) -> None:
    tasks = [accept(scene.batch({user: ["A.1"]}), user) for user in (scene.ada, scene.bob)]
    for task, choice in zip(tasks, ["high", "low"], strict=True):
        judge(task, choice)

    with pytest.raises(QrelsRefused) as refusal:
        qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert "The judgments of 1 unit conflict" in refusal.value.message
    assert "10 of topic A.1 (ada: high, bob: low)" in refusal.value.message
    assert not Qrels.objects.exists()


def test_of_two_main_judgments_that_of_the_assessor_with_the_topic_counts(scene: Scene) -> None:
    batch = scene.batch({scene.ada: ["A.1"]})
    tasks = [accept(batch, scene.ada), accept(scene.batch({scene.bob: ["A.1"]}), scene.bob)]
    for task, choice in zip(tasks, ["high", "low"], strict=True):
        judge(task, choice)
    assignment_services.withdraw(batch=batch, assessor=scene.ada, topic=scene.topics["A.1"])

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert lines(qrels) == ["A.1\t0\t10\t1"]
    assert qrels.report["decided"] == {"by the assessor assigned now": 1}


def test_nothing_is_frozen_without_judgments(scene: Scene) -> None:
    with pytest.raises(QrelsRefused, match="No topic of the pool “Pool 1” has enough judgments yet"):
        qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)


def test_a_pool_that_is_not_ready_is_refused(scene: Scene) -> None:
    Pool.objects.filter(pk=scene.pool.pk).update(status=Pool.Status.BUILDING)
    scene.pool.refresh_from_db()

    with pytest.raises(QrelsRefused, match="is not ready"):
        qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)


def test_the_same_judgments_make_no_second_version(scene: Scene) -> None:
    scene.judged(*NINE)
    qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    with pytest.raises(QrelsRefused, match="are identical to version 1"):
        qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert Qrels.objects.count() == 1


def test_people_freeze_what_a_machine_judged_alike(scene: Scene) -> None:
    scene.judged(*NINE)
    qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    Qrels.objects.update(machine=make_machine(scene.track, scene.organizer))

    by_people = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert (by_people.version, by_people.machine) == (2, None)


def test_versions_are_numbered_by_track(scene: Scene) -> None:
    scene.judged(*NINE)

    first = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    second = scene.qrels()

    assert (first.version, second.version) == (1, 2)
    assert (first.source, second.source) == ("frozen", "imported")


def test_the_database_keeps_versions_and_units_apart(scene: Scene) -> None:
    qrels = scene.qrels()
    entry = QrelsEntry.objects.filter(qrels=qrels).first()
    assert entry is not None

    for row in (qrels, entry):
        row.pk = None
        with pytest.raises(IntegrityError), transaction.atomic():
            row.save(force_insert=True)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE scoring_qrelsentry SET grade = 0",
        "DELETE FROM scoring_qrelsentry",
        "TRUNCATE scoring_qrelsentry",
        "TRUNCATE scoring_qrels CASCADE",
    ],
)
def test_the_database_keeps_the_entries_of_a_version(scene: Scene, statement: str) -> None:
    version = scene.qrels()
    entries = list(version.entries.values_list("topic", "docno", "grade"))

    with pytest.raises(IntegrityError, match="kept"), transaction.atomic(), guarded() as cursor:
        cursor.execute(statement)

    assert list(version.entries.values_list("topic", "docno", "grade")) == entries


def test_import_reports_what_is_not_part_of_the_track(scene: Scene) -> None:
    text = b"A.1 0 10 3\nA.1 0 x -1\nA.10 0 10 2\n"

    qrels = scene.qrels(text, name="official")

    assert qrels.report == {
        "file": "q.txt",
        "absent_topics": ["A.2"],
        "unknown_documents": None,
        "notes": [],
    }
    assert lines(qrels) == ["A.1\t0\t10\t3", "A.1\t0\tx\t-1", "A.10\t0\t10\t2"]
    assert (qrels.n_topics, qrels.n_judged) == (2, 2)


def test_documents_missing_from_the_collection_are_counted(db: None) -> None:
    scene = build_scene()
    collection = make_collection("posts")
    question = make_document(collection, "1")
    make_answer(question, "10")
    scene.track.collection = collection
    scene.track.save()

    qrels = scene.qrels()

    assert qrels.report["unknown_documents"] == {"n": 3, "first": ["9", "é"]}


def test_ids_of_instances_in_qrels_of_formulas_are_reported(db: None) -> None:
    """Version 1 of the qrels of ARQMath 2020, Task 2 names instances: none of its lines would count."""
    scene = build_formula_scene(n=6)
    client = Client()
    client.force_login(scene.organizer)
    file = SimpleUploadedFile("q.txt", b"B.1 0 v0 3\nB.1 0 v9 2\nB.2 0 3 2\n")

    address = reverse("scoring:import_qrels", args=[scene.track.slug])
    page = " ".join(client.post(address, {"file": file}, follow=True).content.decode().split())

    assert "2 lines have a visual id that is not in the collection" in page
    assert "Of them, 1 is the id of an instance of a formula." in page


def test_a_file_of_another_track_is_refused(scene: Scene) -> None:
    with pytest.raises(QrelsRefused, match=r"1 topic of the file is not in ARQ: “B\.1”"):
        scene.qrels(b"B.1 0 10 3\n")


def test_topic_cannot_have_the_name_of_the_mean(scene: Scene) -> None:
    with pytest.raises(QrelsRefused, match="1 topic of the file is not in ARQ: “all”"):
        scene.qrels(b"A.1 0 10 3\nall 0 10 3\n")


def test_another_track_numbers_its_own_versions(scene: Scene) -> None:
    other = make_track("other")
    other.topics.create(code="A.1")
    scene.qrels()

    qrels = qrels_services.import_file(
        track=other, columns=parse_qrels(b"A.1 0 1 1\n"), file_name="q", by=scene.organizer
    )

    assert qrels.version == 1


def test_grades_that_judges_can_only_give_together_are_on_the_scale_of_a_sum(scene: Scene) -> None:
    stored = scene.track.protocol
    stored.text = stored.text.replace('aggregate = "single"', 'aggregate = "sum"')
    stored.text = stored.text.replace("judges = 1", "judges = 2").replace("qrels_code", "#")
    stored.save()

    with pytest.raises(QrelsRefused, match=r"Grade 7 is not in arqmath-2020-task1; use 0 to 6\."):
        scene.qrels(b"A.1 0 a 6\nA.1 0 b 7\n")


@pytest.mark.django_db(transaction=True)
def test_versions_created_at_the_same_time_get_different_numbers() -> None:
    scene = build_scene()
    start = threading.Barrier(4)

    def make(n: int) -> int:
        try:
            start.wait()
            return scene.qrels(f"A.1 0 {n} 1\n".encode()).version
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        versions = sorted(threads.map(make, range(4)))

    assert versions == [1, 2, 3, 4]


UNIT = Unit("A.1", "10")


def vote(
    grade: int | None, *, kind: str = "main", is_assigned: bool = True, assessor: str = "ada"
) -> tuple[Unit, Vote]:
    return UNIT, Vote(kind, is_assigned, assessor, str(grade), grade)


def frozen_grade(rules: QrelsRules, judges: int, *votes: tuple[Unit, Vote]) -> int | None:
    rows = grade_units([UNIT], votes, rules=rules, judges=judges).rows
    return rows[0][2] if rows else None


def test_the_highest_judgment_counts_where_the_protocol_says_maximum() -> None:
    rules = QrelsRules(aggregate="maximum")

    assert frozen_grade(rules, 1, vote(1), vote(3, assessor="bob"), vote(None, assessor="cy")) == 3
    assert frozen_grade(rules, 1, vote(None)) is None
    assert frozen_grade(rules, 1, vote(3), vote(0, kind="adjudication")) == 0


def test_judgments_are_summed_where_the_protocol_says_so() -> None:
    rules = QrelsRules(aggregate="sum")

    assert frozen_grade(rules, 2, vote(1), vote(2, assessor="bob")) == 3
    assert frozen_grade(rules, 2, vote(1)) is None
    assert frozen_grade(rules, 2, vote(1), vote(None, assessor="bob")) is None
    taken_over = vote(0, assessor="cy", is_assigned=False)
    assert frozen_grade(rules, 2, vote(1), vote(2, assessor="bob"), taken_over) == 3


def test_too_many_judgments_to_sum_are_refused() -> None:
    votes = [vote(1), vote(2), vote(3)]

    with pytest.raises(Undecided) as refusal:
        grade_units([UNIT], votes, rules=QrelsRules(aggregate="sum"), judges=2)

    assert refusal.value.conflicts[0].reason == "3 judgments, but 2 are summed"


def test_adjudication_does_not_change_a_sum() -> None:
    votes = [vote(1), vote(2, assessor="bob"), vote(0, assessor="eve", kind="adjudication")]

    frozen = grade_units([UNIT], votes, rules=QrelsRules(aggregate="sum"), judges=2)

    assert frozen.rows[0][2] == 3
    assert frozen.report["decided"] == {"by the sum, although adjudicated": 1}


def test_two_equal_judgments_do_not_conflict() -> None:
    assert frozen_grade(QrelsRules(aggregate="single"), 1, vote(2), vote(2, assessor="bob")) == 2


def test_docnos_of_any_characters_are_kept_as_they_are(scene: Scene) -> None:
    text = b'A.1\t0\t\\N\t1\nA.1\t0\ta\\tb\\\\\t2\nA.1\t0\tx"y,#\t0\nA.2\t0\t\xc5\x81:3\t-1\n'

    assert qrels_tsv(scene.qrels(text)) == b"".join(sorted(text.splitlines(keepends=True)))


def test_all_entries_of_an_official_file_are_stored(scene: Scene, data: Path) -> None:
    text = real_qrels(data).read_bytes()
    for code in {line.split()[0].decode() for line in text.splitlines()} - scene.topics.keys():
        make_topic(scene.track, code)

    qrels = scene.qrels(text)

    assert qrels.n_judged == qrels.entries.count() == 39_124
    assert qrels_tsv(qrels) == format_qrels(parse_qrels(text))


def test_qrels_of_an_earlier_year_are_attached_and_not_released(scored: Scene, client: Client) -> None:
    later, qrels = make_track("next-year"), scored.qrels()
    client.force_login(scored.organizer)
    address = reverse("scoring:offer_qrels", args=[qrels.pk])

    answer = client.post(address, {"track": later.slug})
    again = client.post(address, {"track": later.slug})
    own = client.post(address, {"track": scored.track.slug})

    row = Download.objects.get()
    assert answer["Location"] == reverse("tracks:edit_download", args=[later.slug, row.pk])
    assert (row.kind, row.released_at, row.sha256) == ("qrels", None, qrels.sha256)
    with row.file.open("rb") as file:
        assert file.read() == qrels_tsv(qrels)
    assert (again.status_code, own.status_code) == (409, 409)


FILE = "A.1 xxx a 2.6666666666666665\nA.1 xxx b 3.0\nA.1 xxx c 1.3333333333333333\nA.2 xxx a 0.0\n"
ADVICE = "Multiplied by 3, all grades are whole: assay qrels convert FILE --scale 3"
TRIPLED = (
    ("ntcir-12-simto", "tripled"),
    ("value = 2", "value = 6"),
    ("value = 1", "value = 3"),
    ("relevant_from = 3", "relevant_from = 9"),
    ("rel=3", "rel=9"),
    ("binary_from = 1", "binary_from = 3"),
)


def tripled() -> StoredProtocol:
    text = shipped_text("ntcir-12-simto")
    for old, new in TRIPLED:
        assert old in text
        text = text.replace(old, new)
    return StoredProtocol.objects.create(slug="tripled", title="Tripled", text=text, digest="f" * 64)


def import_qrels(client: Client, scene: Scene, content: bytes) -> str:
    upload = SimpleUploadedFile("qrels.txt", content)
    address = reverse("scoring:import_qrels", args=[scene.track.slug])
    return client.post(address, {"file": upload, "name": "arXiv"}, follow=True).content.decode()


@pytest.mark.django_db
def test_fractions_are_refused_with_the_factor_and_its_result_is_scored(
    client: Client, tmp_path: Path
) -> None:
    """2.67 stays below the relevance level of 3, and 3 reaches it: 8 and 9 of 9, without rounding."""
    scene = build_scene("ntcir-12-simto")
    scene.submit_lines(scene.ours, "r", [f"A.1 1 {docno} {n} {-n} r\n" for n, docno in enumerate("abc", 1)])
    client.force_login(scene.organizer)
    (tmp_path / "qrels.txt").write_text(FILE)

    refused = import_qrels(client, scene, FILE.encode())
    assert "line 1: grade 2.6666666666666665 is a fraction" in refused
    assert ADVICE in refused
    assert not Qrels.objects.exists()

    files = [str(tmp_path / "qrels.txt"), "--scale", "3", "--output", str(tmp_path / "out")]
    assert main(["qrels", "convert", *files]) == 0
    scene.track.protocol = tripled()
    scene.track.save()
    import_qrels(client, scene, (tmp_path / "out" / "qrels.txt").read_bytes())
    [qrels] = Qrels.objects.all()
    client.post(reverse("scoring:score", args=[qrels.pk]))
    board = Leaderboard.objects.get()
    assert board.job is not None
    jobs.run(board.job.pk)

    page = client.get(board.get_absolute_url())
    [row] = page.context["rows"]
    assert dict(zip(board.measures, (cell.text for cell in row.cells), strict=True))["P(rel=9)@5"] == "0.1000"


@pytest.fixture
def judged() -> Scene:
    """Ada is a graduate, Bob an undergraduate; she finds everything relevant, he partially. One topic is judged."""
    return _judged(2, 1)


def _judged(of_ada: int, of_bob: int) -> Scene:
    """Ada gives all units of a topic one grade, Bob another."""
    scene = build_scene("ntcir-12-wikipedia")
    people = ((scene.ada, "graduate", of_ada), (scene.bob, "undergraduate", of_bob))
    for user, group, _ in people:
        Assessor.objects.filter(user=user).update(group=group)
    batch = scene.batch({scene.ada: ["A.1"], scene.bob: ["A.1"]})
    for user, _, value in people:
        grades = scene.track.protocol.parsed.judging.grades
        choice = next(row.key for row in grades if row.value == value)
        scene.judge(batch, user, choice, choice, choice)
    return scene


@pytest.mark.django_db
def test_the_sum_and_each_groups_own_grades_become_versions(judged: Scene) -> None:
    qrels = qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)

    versions = {row.name: qrels_tsv(row).decode() for row in Qrels.objects.filter(track=judged.track)}
    assert qrels.version == 1
    assert versions == {
        "": "A.1\t0\t10\t3\nA.1\t0\t9\t3\nA.1\t0\té\t3\n",
        "graduate alone, of version 1": "A.1\t0\t10\t2\nA.1\t0\t9\t2\nA.1\t0\té\t2\n",
        "undergraduate alone, of version 1": "A.1\t0\t10\t1\nA.1\t0\t9\t1\nA.1\t0\té\t1\n",
    }


@pytest.mark.django_db
def test_groups_that_agree_have_a_version_each() -> None:
    scene = _judged(1, 1)

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    groups = list(group_versions(qrels))
    assert [version.report["group"] for version in groups] == ["graduate", "undergraduate"]
    assert len({version.sha256 for version in groups}) == 1


@pytest.mark.django_db
def test_one_group_alone_gives_no_grade(client: Client) -> None:
    scene = build_scene("ntcir-12-wikipedia")
    Assessor.objects.filter(user=scene.ada).update(group="graduate")
    scene.judged("relevant")
    client.force_login(scene.organizer)

    page = client.get(reverse("scoring:freeze", args=[scene.track.slug]), {"pool": scene.pool.pk})

    assert "9 units without a grade, because a grade is the sum of 2 judgments." in page.content.decode()


@pytest.mark.django_db
def test_page_of_a_version_names_its_group(judged: Scene, client: Client) -> None:
    qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)
    client.force_login(judged.organizer)

    page = client.get(Qrels.objects.get(name__startswith="graduate").get_absolute_url()).content.decode()

    assert "of the group <em>graduate</em> only" in page
    assert "Version 1 has the judgments of all groups" in page


@pytest.mark.django_db
def test_sum_of_judges_has_no_label_of_the_scale(client: Client) -> None:
    """Grade 2 may be one judge's *Relevant*, or *Partially relevant* twice."""
    scene = _judged(1, 1)
    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)
    client.force_login(scene.organizer)

    of_sum, of_group = (
        client.get(each.get_absolute_url()).content.decode()
        for each in (qrels, Qrels.objects.get(name__startswith="graduate"))
    )

    assert "grade-label" not in of_sum
    assert "Partially relevant" in of_group


@pytest.mark.django_db
def test_without_groups_there_is_only_the_sum(judged: Scene) -> None:
    Assessor.objects.update(group="")

    qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)

    assert Qrels.objects.filter(track=judged.track).count() == 1


@pytest.mark.parametrize(
    ("protocol", "group", "reason"),
    [
        ("ntcir-12-wikipedia", "students", "use graduate, undergraduate"),
        ("arqmath-2020-task1", "graduate", "it defines no groups"),
    ],
)
@pytest.mark.django_db
def test_only_groups_of_the_protocol_are_taken(protocol: str, group: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        check_group(track=build_scene(protocol).track, group=group)


@pytest.mark.django_db
def test_known_items_become_qrels_without_any_judgment() -> None:
    scene = build_scene("ntcir-11-math")

    qrels = qrels_services.freeze_judgments(pool=scene.pool, by=scene.organizer)

    assert set(qrels.entries.values_list("grade", flat=True)) == {1}
    assert (qrels.n_topics, qrels.n_judged) == (3, 9)
    assert qrels.report["known_items"] == 9


@pytest.mark.parametrize(("group", "is_taken"), [("graduate", True), ("", True), ("students", False)])
@pytest.mark.django_db
def test_the_admin_takes_groups_of_the_protocol(group: str, is_taken: bool) -> None:
    scene = build_scene("ntcir-12-wikipedia")

    form = AssessorForm({"user": scene.stranger.pk, "group": group}, instance=Assessor(track=scene.track))

    assert form.is_valid() == is_taken
    assert is_taken or "use graduate, undergraduate" in str(form.errors)


@pytest.mark.django_db
def test_other_qrels_of_an_analysis_may_be_those_of_groups(judged: Scene, client: Client) -> None:
    lines = [f"A.1 1 {docno} {rank} {-rank} run\n" for rank, docno in enumerate(("10", "9"), 1)]
    judged.submit_lines(judged.ours, "run", lines)
    qrels = qrels_services.freeze_judgments(pool=judged.pool, by=judged.organizer)
    alone = list(Qrels.objects.filter(track=judged.track).exclude(pk=qrels.pk).order_by("pk"))
    leaderboard_services.request_with_parts(qrels=qrels, by=judged.organizer)
    for board in Leaderboard.objects.order_by("-pk"):  # that of all judgments is scored last
        jobs.run(board.job_id or 0)

    whole = Leaderboard.objects.get(qrels=qrels)
    analysis = analysis_services.request(
        leaderboard=whole, kind="compare", by=judged.organizer, versions=alone
    )
    jobs.run(analysis.job_id or 0)
    analysis.refresh_from_db()

    # A 2 of the graduate is relevant, a 1 of the undergraduate is not.
    assert [row["relevant"]["total"] for row in analysis.result["units"]] == [3, 3, 0]
    assert [column[0] for column in analysis.result["measures"]["P(rel=3)@5"]["means"]] == [0.4, 0.4, 0.0]
    client.force_login(judged.organizer)
    query = {"track": judged.track.slug, "measure": "P(rel=3)@5", "digits": "2"}
    address = reverse("papers:comparison_file", args=["groups", "csv"])
    assert client.get(address, query).content.decode().splitlines() == [
        "collection,Run,P(rel=3)@5: all judgments,P(rel=3)@5: graduate,P(rel=3)@5: undergraduate",
        "ARQ,Ours: run,0.40,0.40,0.00",
    ]

    judged.track.collection = make_collection("wiki")
    judged.track.save()
    Formula.objects.bulk_create(
        Formula(
            collection=judged.track.collection,
            code=docno,
            place=Formula.Place.QUESTION,
            visual="v",
            latex="x",
        )
        for docno in ("9", "10")
    )
    whole.track.refresh_from_db()
    again = analysis_services.request(leaderboard=whole, kind="instances", by=judged.organizer)
    jobs.run(again.job_id or 0)
    units = client.get(reverse("papers:comparison_file", args=["units", "csv"]), query).content.decode()

    assert client.get(address, query).content.decode().splitlines()[1:] == [
        '"ARQ, instances",Ours: run,0.40,0.40,0.00', '"ARQ, distinct formulas",Ours: run,0.20,0.20,0.00'
    ]  # fmt: skip
    assert [line.split(",")[1:4] for line in units.splitlines()[1:3]] == [
        ["formula instances", "1", "3"], ["distinct formulas", "1", "1"]
    ]  # fmt: skip
