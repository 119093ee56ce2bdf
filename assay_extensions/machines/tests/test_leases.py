"""Leases: each unit has one holder and is judged once, also when processes are killed and repeat what they sent."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.tokens import create
from assay_extensions.machines.site import leases, services
from assay_extensions.machines.site.models import Hold, Lease, ReplyEvidence
from assessment.judging import services as tasks
from assessment.models import Batch, Judgment, Task
from tests.assessment.conftest import Scene, build_scene
from tests.assessment.judging.test_concurrency import at_once
from tests.helpers.factories import make_assessor, make_organizer, make_topic, make_track
from tests.helpers.judging import make_machine, make_pool
from tracks.models import Machine

EVIDENCE = {
    "prompt_sha256": "a" * 64,
    "reply": "##final score: 3",
    "parser": "final-score/1",
    "parse_status": "read",
    "probabilities": {"high": 0.9, "low": 0.1},
    "model": "fake-1",
    "tokens_in": 900,
    "tokens_out": 5,
    "cost": "0.0012",
    "currency": "USD",
    "milliseconds": 812,
    "attempts": 1,
    "is_cached": False,
    "round": 1,
}


class Process:
    """A process of a machine, which speaks to the API with a token of its own."""

    def __init__(self, machine: Machine, batch: Batch) -> None:
        new = create(
            user=machine.assessor.user,
            name=f"process {uuid4()}",
            scopes=["read", "judge"],
            expires_at=timezone.now() + timedelta(days=1),
        )
        self.client = APIClient(HTTP_AUTHORIZATION=f"Bearer {new.text}")
        self.batch = batch

    def post(self, path: str, content: Any = None, *, status: int = 200) -> Any:
        answer = self.client.post(f"/api/v1/{path}", content or {}, format="json")
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None

    def lease(self, n: int = 2, seconds: int = 600) -> Any:
        return self.post(f"batches/{self.batch.pk}/leases/", {"n": n, "seconds": seconds}, status=201)

    def judge(self, lease: Any, judgments: list[Any], skips: list[Any] | None = None) -> list[Any]:
        content = {"judgments": judgments, "skips": skips or []}
        results: list[Any] = self.post(f"leases/{lease['id']}/judgments/", content)["results"]
        return results


def judgment(task: int, choice: str = "high", **more: Any) -> dict[str, Any]:
    return {"task": task, "request_id": str(uuid4()), "choice": choice, "seconds": 1, **more}


def ids(lease: Any) -> list[int]:
    return [task["id"] for task in lease["tasks"]]


def statuses(results: list[Any]) -> list[str]:
    return [result["status"] for result in results]


@pytest.fixture
def machine(scene: Scene) -> Machine:
    return make_machine(scene.track, make_organizer("olga"))


@pytest.fixture
def process(scene: Scene, machine: Machine) -> Process:
    return Process(machine, services.start(machine=machine, pool=scene.pool, by=machine.owner))


def end(lease: Any) -> None:
    """Let the time of a lease run out."""
    Lease.objects.filter(pk=lease["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_leases_share_out_a_batch_in_the_order_of_judging(process: Process) -> None:
    first, second, third = (
        process.lease(4),
        process.lease(4),
        process.post(f"batches/{process.batch.pk}/leases/", {"n": 1, "seconds": 9}, status=204),
    )

    assert [task["unit"]["topic"] for task in first["tasks"]] == ["A.1", "A.1", "A.1", "A.2"]
    assert (len(second["tasks"]), third) == (2, None)
    assert not set(ids(first)) & set(ids(second))


def test_judgments_of_a_lease_are_stored_with_their_evidence(process: Process) -> None:
    lease = process.lease(2)
    first, second = ids(lease)

    results = process.judge(
        lease,
        [judgment(first, evidence=EVIDENCE)],
        [{"task": second, "reason": "no score", "evidence": EVIDENCE | {"parse_status": "unreadable"}}],
    )

    assert statuses(results) == ["stored", "stored"]
    stored = Judgment.objects.get()
    assert (stored.choice, stored.is_current, stored.task_id) == ("high", True, first)
    assert stored.evidence.probabilities == EVIDENCE["probabilities"]
    skipped = Task.objects.get(pk=second)
    assert (skipped.status, skipped.skip_reason) == ("skipped", "no score")
    assert ReplyEvidence.objects.get(judgment=None).parse_status == "unreadable"
    assert not Hold.objects.exists()


def test_skipped_units_come_back_last(process: Process) -> None:
    lease = process.lease(1)
    process.judge(lease, [], [{"task": ids(lease)[0]}])

    assert ids(process.lease(6))[-1] == ids(lease)[0]


def test_a_repeated_request_changes_nothing(process: Process) -> None:
    lease = process.lease(2)
    sent = [judgment(ids(lease)[0], evidence=EVIDENCE)], [{"task": ids(lease)[1], "reason": "no score"}]
    process.judge(lease, *sent)

    assert statuses(process.judge(lease, *sent)) == ["already-stored", "already-stored"]
    assert (Judgment.objects.count(), ReplyEvidence.objects.count()) == (1, 1)


def test_a_second_holder_is_refused(process: Process, machine: Machine) -> None:
    lease, other = process.lease(1), Process(machine, process.batch)
    end(lease)
    taken = other.lease(1)
    assert ids(taken) == ids(lease)

    [late] = process.judge(lease, [judgment(ids(lease)[0], "low")])
    assert (late["status"], late["code"]) == ("refused", "unit-of-others")
    assert statuses(other.judge(taken, [judgment(ids(taken)[0])])) == ["stored"]
    [again] = process.judge(lease, [judgment(ids(lease)[0], "low")])

    assert again["status"] == "refused"
    assert [stored.choice for stored in Judgment.objects.all()] == ["high"]


def test_a_lease_that_is_over_stores_what_nobody_has_taken(process: Process) -> None:
    lease = process.lease(1)
    end(lease)

    assert statuses(process.judge(lease, [judgment(ids(lease)[0])])) == ["stored"]


def test_renewed_lease_keeps_its_units_and_one_that_lost_them_is_over(process: Process) -> None:
    lease = process.lease(6)
    end(lease)
    renewed = process.post(f"leases/{lease['id']}/renew/", {"seconds": 60})
    assert sorted(renewed["tasks"]) == sorted(ids(lease))
    process.post(f"batches/{process.batch.pk}/leases/", {"n": 1, "seconds": 9}, status=204)
    end(lease)
    process.lease(6)

    problem = process.post(f"leases/{lease['id']}/renew/", {"seconds": 60}, status=409)

    assert problem["code"] == "lease-over"


def test_released_units_are_given_out_again(process: Process) -> None:
    lease = process.lease(6)
    process.judge(lease, [judgment(ids(lease)[0])])

    process.post(f"leases/{lease['id']}/release/", status=204)
    process.post(f"leases/{lease['id']}/release/", status=204)

    assert ids(process.lease(6)) == ids(lease)[1:]


def test_a_refused_judgment_does_not_stop_the_others(process: Process) -> None:
    lease = process.lease(2)
    sent = [judgment(ids(lease)[0], "splendid"), judgment(ids(lease)[1]), judgment(10**9)]

    results = process.judge(lease, sent)

    assert statuses(results) == ["refused", "stored", "refused"]
    assert [result["task"] for result in results] == [row["task"] for row in sent]
    assert "splendid" in results[0]["reason"]


def test_a_unit_that_was_judged_without_a_lease_is_refused(process: Process, machine: Machine) -> None:
    lease = process.lease(1)
    task = tasks.accept_next(batch=process.batch, assessor=machine.assessor.user)
    assert task is not None
    process.post(f"tasks/{task.pk}/judgments/", {"choice": "low"}, status=201)

    [result] = process.judge(lease, [judgment(task.pk)])

    assert (result["status"], Judgment.objects.get().choice) == ("refused", "low")


@pytest.mark.parametrize(
    ("evidence", "says"),
    [({"reply": "x"}, "prompt_sha256"), (EVIDENCE | {"color": "red"}, "color"), (7, "evidence")],
)
def test_wrong_evidence_names_the_key(process: Process, evidence: Any, says: str) -> None:
    lease = process.lease(1)
    content = {"judgments": [judgment(ids(lease)[0], evidence=evidence)]}

    problem = process.post(f"leases/{lease['id']}/judgments/", content, status=400)

    assert says in str(problem)


def test_people_and_other_machines_have_no_lease_of_it(scene: Scene, process: Process) -> None:
    lease, person = process.lease(1), APIClient()
    person.force_authenticate(scene.ada)
    other = make_machine(scene.track, make_organizer("otto"), version="2")

    refused = person.post(f"/api/v1/batches/{scene.batch.pk}/leases/", {"n": 1, "seconds": 9}, format="json")

    assert (refused.status_code, refused.json()["code"]) == (409, "not-a-machine")
    Process(other, process.batch).post(f"leases/{lease['id']}/release/", status=404)


def test_queries_of_a_bulk_grow_by_those_of_each_submission(process: Process) -> None:
    def queries(n: int) -> int:
        lease = process.lease(n)
        with CaptureQueriesContext(
            connection,
        ) as captured:
            process.judge(lease, [judgment(task, evidence=EVIDENCE) for task in ids(lease)])
        return len(captured)

    of_one, of_three = queries(1), queries(3)

    assert (of_three - of_one) / 2 <= 12
    assert of_one <= 40


@pytest.mark.django_db(transaction=True)
def test_processes_at_once_judge_each_unit_once(transactional_db: None) -> None:
    """Two lose their answers, and repeat what they sent; one is killed with units that it holds."""
    scene = build_scene()
    machine = make_machine(scene.track, make_organizer("olga"))
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    killed = Process(machine, batch).lease(1)
    end(killed)

    def work() -> int:
        process, n = Process(machine, batch), 0
        while True:
            answer = process.client.post(
                f"/api/v1/batches/{batch.pk}/leases/", {"n": 1, "seconds": 600}, format="json"
            )
            if answer.status_code == 204:
                return n
            lease = answer.json()
            sent = [judgment(task, evidence=EVIDENCE) for task in ids(lease)]
            assert statuses(process.judge(lease, sent)) == ["stored"]
            assert statuses(process.judge(lease, sent)) == ["already-stored"]
            n += 1

    counts = at_once([work] * 3)

    assert sum(counts) == Judgment.objects.filter(is_current=True).count() == 6
    assert Judgment.objects.count() == ReplyEvidence.objects.count() == 6


@pytest.mark.django_db(transaction=True)
def test_a_lease_that_is_being_renewed_is_not_taken(transactional_db: None) -> None:
    scene = build_scene()
    machine = make_machine(scene.track, make_organizer("olga"))
    batch = services.start(machine=machine, pool=scene.pool, by=machine.owner)
    lease = Process(machine, batch).lease(6)
    end(lease)

    def take() -> object:
        return leases.take(batch=batch, machine=machine, n=6, seconds=60)

    with transaction.atomic():
        leases.renew(lease=Lease.objects.get(pk=lease["id"]), seconds=60)
        [taken] = at_once([take])

    assert taken is None


def test_large_batch_is_shared_out_completely(db: None) -> None:
    track = make_track()
    pool = make_pool(track, {make_topic(track, "A.1"): 7, make_topic(track, "A.2"): 6})
    make_assessor(track)
    machine = make_machine(track, make_organizer("olga"))
    process = Process(machine, services.start(machine=machine, pool=pool, by=machine.owner))

    taken = [len(process.lease(5)["tasks"]) for _ in range(3)]

    assert taken == [5, 5, 3]
