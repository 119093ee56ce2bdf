"""Gives the assessors of imported judgments their seats: which of the judges of a topic each of them is."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from assessment.imports.campaign import BatchKey, Campaign, PlannedJudgment
from assessment.models import Batch
from web.pages import counted

MAIN = "main"  # the scope of all main batches


class Seats:
    """The seats of a track. A main judgment takes its seat in all main batches of the same protocol."""

    def __init__(self, campaign: Campaign, batches: Collection[Batch], topics: Collection[int]) -> None:
        self.campaign = campaign
        of_id = {batch.pk: batch for batch in campaign.batches.values()}
        pools = {pool.pk for pool in campaign.pools.values()}  # of the track's protocol
        self.taken: dict[tuple[object, int, int], set[str]] = defaultdict(set)  # docnos by scope, topic, seat
        self.judged_in_main: set[tuple[int, str, int]] = set()  # topic, docno and assessor
        for batch_id, topic, docno, seat, assessor in campaign.judged(topics):
            batch = of_id[batch_id]
            is_main = batch.kind == Batch.Kind.MAIN and batch.pool_id in pools
            scope = MAIN if is_main else (batch.pool_id, batch.name)
            self.taken[scope, topic, seat].add(docno)
            if is_main:
                self.judged_in_main.add((topic, docno, assessor))
        names = {batch.pk: (batch.pool_id, batch.name) for batch in batches}
        self.assigned = {
            (names[assignment.batch_id], assignment.topic_id, assignment.assessor_id): assignment.seat
            for assignment in campaign.assignments(batches, topics)
        }
        self.groups = {
            (batch, topic, seat): group
            for (batch, topic, assessor), seat in self.assigned.items()
            if (group := campaign.groups.get(assessor))
        }

    def give(self, planned: Sequence[PlannedJudgment]) -> Iterator[tuple[PlannedJudgment, str]]:
        """Set the seats of judgments; yields those for which there is none, and why."""
        groups: dict[tuple[BatchKey, int, int], list[PlannedJudgment]] = {}
        for judgment in planned:
            if not judgment.row.is_check:
                groups.setdefault((judgment.batch, judgment.topic, judgment.assessor), []).append(judgment)
        for (batch, topic, assessor), judgments in groups.items():
            seat = self.assigned.get(((batch.pool_id, batch.name), topic, assessor))
            is_stated = all(judgment.seat for judgment in judgments)
            if seat is None and not is_stated:
                seat = self._free(batch, topic, assessor, judgments)
            for judgment in judgments:
                judgment.seat = judgment.seat or seat or 1
                if problem := self._take(judgment):
                    yield judgment, problem

    def _free(self, key: BatchKey, topic: int, assessor: int, judgments: Sequence[PlannedJudgment]) -> int:
        """In a main batch the seat of the group with the fewest of the documents judged; in others a new one."""
        batch = key.pool_id, key.name
        docnos = {judgment.row.docno for judgment in judgments if judgment.is_current}
        if key.kind != Batch.Kind.MAIN:
            taken = [seat for scope, code, seat in self.taken if (scope, code) == (batch, topic)]
            assigned = [
                seat for (scope, code, _), seat in self.assigned.items() if (scope, code) == (batch, topic)
            ]
            seat = max([*taken, *assigned], default=0) + 1
            self.assigned[batch, topic, assessor] = seat
            return seat
        seats = list(range(1, self.campaign.judges_in(key) + 1))
        group = self.campaign.groups.get(assessor)
        if group and self.campaign.rules.groups:
            own = [seat for seat in seats if self.groups.get((batch, topic, seat)) == group]
            open_to_all = [seat for seat in seats if (batch, topic, seat) not in self.groups]
            seats = own or open_to_all or seats
        seat = min(seats, key=lambda seat: len(self.taken[MAIN, topic, seat] & docnos))
        if group:
            self.groups.setdefault((batch, topic, seat), group)
        return seat

    def _take(self, planned: PlannedJudgment) -> str:
        """Take the seat of a judgment; what prevents it, or nothing."""
        row, batch, n = planned.row, planned.batch, self.campaign.judges_in(planned.batch)
        judges = f"the batch asks for {counted(n, 'judge')} of a unit"
        is_main = batch.kind == Batch.Kind.MAIN
        if is_main and planned.seat > n:
            return f"seat {planned.seat}, but {judges}"
        if not planned.is_current:
            return ""
        if is_main and (planned.topic, row.docno, planned.assessor) in self.judged_in_main:
            return f"{row.assessor} has judged {row.docno} of {row.topic} in another main batch"
        scope = MAIN if is_main else (batch.pool_id, batch.name)
        docnos = self.taken[scope, planned.topic, planned.seat]
        if row.docno not in docnos:
            docnos.add(row.docno)
            return ""
        other = f"another assessor has judged {row.docno} of {row.topic}"
        if not is_main:
            return f"{other} in seat {planned.seat} of the batch"
        return f"{other}, and {judges}; import it as second judgments, or leave one of the two out"
