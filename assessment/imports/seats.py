"""Gives the assessors of imported judgments their seats: which of the judges of a topic each of them is."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from assessment.imports.campaign import Campaign
from assessment.imports.planned import BatchKey, Planned
from assessment.models import Batch


class Seats:
    """The seats of a track. A main judgment takes its seat in all main batches of the same protocol."""

    def __init__(self, campaign: Campaign, batches: Collection[Batch], topics: Collection[int]) -> None:
        self.campaign = campaign
        kinds = {batch.pk: batch for batch in campaign.batches.values()}
        protocols = {pool.pk: pool.protocol_id for pool in campaign.pools.values()}
        self.taken: dict[tuple[object, int, int], set[str]] = defaultdict(set)  # docnos by scope, topic, seat
        for batch_id, topic, docno, seat in campaign.judged(topics):
            batch = kinds[batch_id]
            is_main = batch.kind == Batch.Kind.MAIN
            scope = ("main", protocols.get(batch.pool_id)) if is_main else (batch.pool_id, batch.name)
            self.taken[scope, topic, seat].add(docno)
        names = {batch.pk: (batch.pool_id, batch.name) for batch in batches}
        self.assigned = {
            (names[each.batch_id], each.topic_id, each.assessor_id): each.seat
            for each in campaign.assignments(batches)
        }

    def give(self, planned: Sequence[Planned]) -> Iterator[tuple[Planned, str]]:
        """Set the seats of judgments; yields those for which there is none, and why."""
        groups: dict[tuple[BatchKey, int, int], list[Planned]] = {}
        for each in planned:
            if not each.row.is_check:
                groups.setdefault((each.batch, each.topic, each.assessor), []).append(each)
        for (batch, topic, assessor), judgments in groups.items():
            seat = self.assigned.get(((batch.pool_id, batch.name), topic, assessor))
            is_stated = all(each.seat for each in judgments)
            if seat is None and not is_stated:
                seat = self._free(batch, topic, judgments)
            for each in judgments:
                each.seat = each.seat or seat or 1
                if problem := self._take(each):
                    yield each, problem

    def _scope(self, planned: Planned) -> tuple[object, ...]:
        if planned.batch.kind == Batch.Kind.MAIN:
            return ("main", planned.pool.protocol_id)
        return (planned.batch.pool_id, planned.batch.name)

    def _free(self, batch: BatchKey, topic: int, judgments: Sequence[Planned]) -> int:
        """In a main batch the seat in which the fewest of the documents are judged; in others, a new one."""
        scope, docnos = self._scope(judgments[0]), {each.row.docno for each in judgments if each.is_current}
        judges = self.campaign.rules.judges
        if batch.kind != Batch.Kind.MAIN:
            taken = [seat for of, code, seat in self.taken if (of, code) == (scope, topic)]
            assigned = [seat for (of, code, _), seat in self.assigned.items() if (of, code) == (scope, topic)]
            return max([*taken, *assigned], default=0) + 1
        return min(range(1, judges + 1), key=lambda seat: len(self.taken[scope, topic, seat] & docnos))

    def _take(self, planned: Planned) -> str:
        """Take the seat of a judgment; what prevents it, or nothing."""
        rules = self.campaign.rules
        is_main = planned.batch.kind == Batch.Kind.MAIN
        judges = f"{rules.judges} judge{'s' * (rules.judges != 1)} of a unit in a main batch"
        if is_main and planned.seat > rules.judges:
            return f"seat {planned.seat}, but the protocol asks for {judges}"
        docnos = self.taken[self._scope(planned), planned.topic, planned.seat]
        if planned.is_current and planned.row.docno in docnos:
            return (
                f"another assessor has judged {planned.row.docno} of {planned.row.topic}, and the protocol asks for "
                f"{judges}; import it as a dual batch, or leave one of the two out"
            )
        if planned.is_current:
            docnos.add(planned.row.docno)
        return ""
