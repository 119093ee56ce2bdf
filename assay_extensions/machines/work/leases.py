"""A judge at the batch of a site: it leases tasks, renews the lease while it works, and sends judgments in bulk.

A lease ends by itself soon after its process. Judgments that are sent twice are stored once, so several processes of
one machine can judge the same batch, and each of them can be killed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from time import monotonic
from typing import Any
from uuid import uuid4

from assay.client.server import Server, ServerError
from assay_extensions.machines.model.asking import Judged, UnitJudge, merged
from assay_extensions.machines.work.batches import MAX_REASON, report
from assay_extensions.machines.work.parallel import in_parallel

SECONDS = 120  # of a lease
BULK = 50  # results that are sent together
MOST_WAIT = 10.0  # seconds until a result is sent
MOST_TASKS = 200  # of a lease


@dataclass
class Lease:
    """Tasks of this process, and the results that are not sent yet. `has_failed`: it holds others, which failed."""

    id: int
    renewed_at: float
    open: set[int]
    has_failed: bool
    judgments: list[dict[str, Any]] = field(default_factory=list)
    skips: list[dict[str, Any]] = field(default_factory=list)
    since: float = 0.0  # the first result that is not sent

    @property
    def n_results(self) -> int:
        return len(self.judgments) + len(self.skips)


class BatchOfSite:
    """The leases of a process for a batch."""

    def __init__(self, server: Server, batch: str, *, n: int, is_html: bool) -> None:
        self.post = partial(server.post, is_repeatable=True)  # each judgment has its own id
        self.address = f"batches/{batch}/leases/{'?texts=html' if is_html else ''}"
        self.n = min(n, MOST_TASKS)
        self.leases: dict[int, Lease] = {}
        self.failed: set[int] = set()

    def tasks(self) -> Iterator[tuple[Lease, Mapping[str, Any]]]:
        """Lease tasks until there are none left but those that failed; they come back last."""
        while answer := self.post(self.address, {"n": self.n, "seconds": SECONDS}):
            tasks = [task for task in answer["tasks"] if task["id"] not in self.failed]
            has_failed = len(tasks) < len(answer["tasks"])
            lease = Lease(answer["id"], monotonic(), {task["id"] for task in tasks}, has_failed)
            self.leases[lease.id] = lease
            examples = {"examples": answer["examples"]}
            for task in tasks:
                yield lease, {**task, "unit": task["unit"] | examples}
            if has_failed:
                return

    def add(self, lease: Lease, task: Mapping[str, Any], results: list[tuple[str, Judged]]) -> str:
        """Keep the result of a task until it is sent; return what went wrong."""
        merged_evidence = merged(results)
        evidence = merged_evidence.as_json() if merged_evidence else None
        problem = next((judged.problem for _, judged in results if judged.problem), "")
        if problem:
            self.failed.add(task["id"])
            lease.skips.append(
                {"task": task["id"], "reason": problem[:MAX_REASON]}
                | ({"evidence": evidence} if evidence else {})
            )
        else:
            choices = [{"docno": docno, "choice": judged.choice} for docno, judged in results]
            seconds = round(sum(judged.seconds for _, judged in results))
            content = {"task": task["id"], "request_id": str(uuid4()), "seconds": seconds}
            chosen = {"members": choices} if task["unit"]["members"] else {"choice": choices[0]["choice"]}
            lease.judgments.append(content | chosen | {"evidence": evidence})
        lease.since = lease.since or monotonic()
        return problem

    def tick(self) -> None:
        """Send what is due, and renew the leases whose tasks are not done."""
        now = monotonic()
        for lease in list(self.leases.values()):
            is_last = lease.n_results >= len(lease.open)
            if lease.n_results and (is_last or lease.n_results >= BULK or now - lease.since > MOST_WAIT):
                self.send(lease)
            elif now - lease.renewed_at > SECONDS / 3:
                lease.renewed_at = now
                try:
                    self.post(f"leases/{lease.id}/renew/", {"seconds": SECONDS})
                except ServerError as error:
                    if error.code != "lease-over":
                        raise

    def send(self, lease: Lease) -> None:
        """Send the results of a lease. What another process judged meanwhile is refused, and stays."""
        content = {"judgments": lease.judgments, "skips": lease.skips}
        for result in self.post(f"leases/{lease.id}/judgments/", content)["results"]:
            if result["status"] == "refused":
                report(f"task {result['task']}: {result['reason']}")
        lease.open -= {row["task"] for row in (*lease.judgments, *lease.skips)}
        lease.judgments, lease.skips, lease.since = [], [], 0.0
        if not (lease.open or lease.has_failed):
            del self.leases[lease.id]

    def close(self) -> None:
        """Send what is done, and give the other tasks back."""
        for lease in list(self.leases.values()):
            if lease.n_results:
                self.send(lease)
            if lease.open or lease.has_failed:
                self.post(f"leases/{lease.id}/release/")


def judged_tasks(
    site: BatchOfSite,
    judge: UnitJudge,
    *,
    connections: int,
    stop: Callable[[], None],
    count: Callable[[Judged], None],
) -> Iterator[tuple[str, str]]:
    """Judge the tasks of a batch; yields the name of each, and what went wrong.

    `count` gets the last result of each task.

    Raises BudgetSpent: the budget is spent, and all that was judged is sent.
    """

    def work(item: tuple[Lease, Mapping[str, Any]]) -> list[tuple[str, Judged]]:
        unit, results = item[1]["unit"], list[tuple[str, Judged]]()
        for member in unit["members"] or [{}]:
            question = {key: value for key, value in (unit | member).items() if key != "members"}
            results.append((question["docno"], judge(question)))
            if results[-1][1].problem:
                break
        return results

    done = in_parallel(site.tasks(), work, connections=connections, stop=stop, tick=site.tick)
    try:
        for (lease, task), results in done:
            count(results[-1][1])
            problem = site.add(lease, task, results)
            unit = task["unit"]
            yield f"task {task['id']}, topic {unit['topic']}, document {unit['docno']}", problem
    finally:
        done.close()  # type: ignore[attr-defined]  # a generator
        site.close()
