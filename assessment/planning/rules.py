"""Rules for a plan in memory: which assessor may judge a topic of a batch, and in which seat.

In a main batch, a topic has one seat for each judge of a unit. An assessor who takes over a seat judges its remaining
units. In a batch that is open to join, several people have a seat at a time. A person is never two judges of a unit, in
all batches together. If the protocol has groups, all assessors of a seat are of one group, and the seats of a topic are
of different groups. In second judgments, nobody judges a topic that they judge in another batch. A machine judges in
machine batches only, and nobody else judges there. Decision: ADR 24.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from accounts.models import User
from assay.digests import sha256_of
from assay.errors import Refused
from assay.protocols.schema import JudgingRules
from assessment.errors import not_an_assessor
from assessment.models import Batch
from tracks.models import Topic


@dataclass(frozen=True, slots=True)
class Change:
    """One row of a change of assignments: a topic is assigned to an assessor, or withdrawn from them."""

    topic: Topic
    assessor: User
    is_withdrawn: bool


@dataclass(frozen=True, slots=True)
class Judge:
    """An active assessor of the track: their group, and the team of the track that they are a member of."""

    user: User
    group: str = ""
    team: str = ""


@dataclass(frozen=True, slots=True)
class Holding:
    """An assessor's seat in a topic, now or (`is_withdrawn`) before, and how many units they have judged in it."""

    seat: int
    is_withdrawn: bool = False
    n_judged: int = 0


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """An assessor's seat in the same topic of another batch, held now, or with judgments."""

    batch: str
    kind: str
    seat: int
    has_judged: bool
    shares_units: bool


@dataclass
class Plan:
    """The assignments of a batch, and what decides about them, by topic and assessor. `sizes` are in units."""

    batch: Batch
    rules: JudgingRules
    topics: Mapping[int, Topic]
    sizes: Mapping[int, int]
    judges: Mapping[int, Judge]
    places: dict[int, dict[int, Holding]]
    elsewhere: Mapping[int, Mapping[int, Sequence[Elsewhere]]]

    def copy(self) -> "Plan":
        return replace(self, places={topic: dict(places) for topic, places in self.places.items()})

    def copy_of(self, topic: Topic) -> "Plan":
        """A plan with one topic only."""
        return replace(self, places={topic.pk: dict(self.places.get(topic.pk, {}))})

    def holders(self, topic_id: int) -> dict[int, Holding]:
        """The places of the assessors who have a topic now, by assessor."""
        places = self.places.get(topic_id, {})
        return {assessor: place for assessor, place in places.items() if not place.is_withdrawn}

    @property
    def has_left(self) -> bool:
        """Return whether a unit still needs a judge in this batch."""
        n_judged = sum(place.n_judged for places in self.places.values() for place in places.values())
        return n_judged < self.batch.n_judges * sum(self.sizes.values())

    @property
    def all_places(self) -> dict[tuple[int, int], Holding]:
        """The place of everyone who has or had a topic, by topic and assessor."""
        return {
            (topic, user): place for topic, places in self.places.items() for user, place in places.items()
        }

    @property
    def digest(self) -> str:
        """Identifies who has which topic, so that a change applies to what its preview showed."""
        held = [
            (topic, assessor, place.seat)
            for topic in sorted(self.places)
            for assessor, place in sorted(self.holders(topic).items())
        ]
        return sha256_of(repr(held).encode())

    @property
    def is_main(self) -> bool:
        return self.batch.kind == Batch.Kind.MAIN

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups of which one assessor each judges a topic; empty if it does not matter."""
        return self.rules.groups if self.is_main else ()

    def group_of(self, assessor_id: int) -> str:
        judge = self.judges.get(assessor_id)
        return judge.group if judge else ""

    def apply(self, changes: Iterable[Change]) -> None:
        """Withdraw topics, then assign topics. Who gets a topic that another loses takes over their seat."""
        freed: dict[int, list[int]] = {}
        changes = list(changes)
        for change in changes:
            if change.is_withdrawn:
                freed.setdefault(change.topic.pk, []).append(self.withdraw(change.topic, change.assessor))
        for change in changes:
            if not change.is_withdrawn:
                seats = freed.get(change.topic.pk, [])
                seat = self.assign(change.topic, change.assessor, freed=seats)
                if seat in seats:
                    seats.remove(seat)

    def withdraw(self, topic: Topic, user: User) -> int:
        """Take a topic from its assessor; returns the seat that is free now."""
        place = self.holders(topic.pk).get(user.pk)
        if place is None:
            raise Refused(
                f"Topic {topic} is not assigned to {user} in this batch.", code="topic-not-assigned"
            )
        self.places[topic.pk][user.pk] = replace(place, is_withdrawn=True)
        return place.seat

    def assign(self, topic: Topic, user: User, *, freed: Sequence[int] = ()) -> int:
        """Give a topic to an assessor, in one of the seats that became free, if there are any; returns the seat."""
        self.check_person(user)
        if topic.pk not in self.sizes:
            raise Refused(
                f"The pool “{self.batch.pool}” has no entries for topic {topic}.", code="topic-not-pooled"
            )
        if user.pk in self.holders(topic.pk):
            raise _already_assigned(topic, str(user))
        seat = self._main_seat(topic, user, freed) if self.is_main else self._other_seat(topic, user, freed)
        own = self._own(topic, user)
        n_judged = own.n_judged if own and own.seat == seat else 0
        self.places.setdefault(topic.pk, {})[user.pk] = Holding(seat, n_judged=n_judged)
        return seat

    def _own(self, topic: Topic, user: User) -> Holding | None:
        return self.places.get(topic.pk, {}).get(user.pk)

    def check_person(self, user: User) -> None:
        judge = self.judges.get(user.pk)
        if user.is_machine != (self.batch.kind == Batch.Kind.MACHINE):
            raise Refused(
                f"{user} is a machine; machines judge in machine batches only."
                if user.is_machine
                else f"The batch “{self.batch}” is for machines, and {user} is a person.",
                code="only-machines-judge",
            )
        if judge is None:
            raise not_an_assessor(user, self.batch.pool.track)
        if judge.team:
            raise Refused(
                f"{user} is a member of the team “{judge.team}”; "
                "a person who submits runs to a track cannot judge for it.",
                code="team-member-cannot-judge",
            )

    def _other_seat(self, topic: Topic, user: User, freed: Sequence[int]) -> int:
        """A seat in a batch that is not a main batch: a freed one, the assessor's former one, or a new one."""
        if self.batch.kind == Batch.Kind.DUAL:
            for other in self._others(topic, user):
                state = "has already judged" if other.has_judged else "already has"
                raise Refused(
                    f"{user} {state} topic {topic} in the batch “{other.batch}”; "
                    "in second judgments another assessor must judge it.",
                    code="already-judged-topic",
                )
        own = self._own(topic, user)
        taken = {place.seat for place in self.holders(topic.pk).values()}
        wanted = [*freed, *([own.seat] if own else [])]
        known = [place.seat for place in self.places.get(topic.pk, {}).values()]
        return next((seat for seat in wanted if seat not in taken), max(known, default=0) + 1)

    def _main_seat(self, topic: Topic, user: User, freed: Sequence[int]) -> int:
        """The first free seat of a main batch in which nothing forbids the assessor."""
        self._check_group(topic, user)
        refusals = []
        # The best one first: the assessor's own, here or elsewhere, then that of their group
        holders = self.holders(topic.pk)
        if self.batch.is_shared:
            return self._shared_seat(topic, user)
        taken = {place.seat for place in holders.values()}
        free = [seat for seat in range(1, self.batch.n_judges + 1) if seat not in taken]
        if not free:
            known = [str(self.judges[pk].user) for pk in holders if pk in self.judges]
            raise _already_assigned(topic, " and ".join(known) or "somebody else")
        own = self._own(topic, user)
        best = [own.seat] if own else []
        best += [other.seat for other in self._others(topic, user)]
        group = self.group_of(user.pk)
        if group in self.groups:
            best += [seat for seat in free if group in self._groups_in(topic, seat)]
            best.append(self.groups.index(group) + 1)
        seats = list(dict.fromkeys([*best, *free]))
        for seat in [seat for seat in seats if seat in (freed or free)]:
            refusal = self._refusal(topic, user, seat)
            if refusal is None:
                return seat
            refusals.append(refusal)
        raise refusals[0]

    def _shared_seat(self, topic: Topic, user: User) -> int:
        """Of a batch that is open to join: the seat that the person had, or the one with most to judge per person."""
        own, left = (
            self._own(topic, user),
            dict.fromkeys(range(1, self.batch.n_judges + 1), self.sizes[topic.pk]),
        )
        n_people = Counter(place.seat for place in self.holders(topic.pk).values())
        for place in self.places.get(topic.pk, {}).values():
            left[place.seat] -= place.n_judged
        seats = [own.seat] if own else sorted(left, key=lambda seat: -left[seat] / (n_people[seat] + 1))
        refusals = {seat: self._refusal(topic, user, seat) for seat in seats}
        for seat, refusal in refusals.items():
            if refusal is None:
                return seat
        raise next(refusal for refusal in refusals.values() if refusal)

    def _others(self, topic: Topic, user: User) -> list[Elsewhere]:
        """The assessor's seats in other batches with some of the same units."""
        others = self.elsewhere.get(topic.pk, {}).get(user.pk, ())
        return [other for other in others if other.shares_units]

    def _check_group(self, topic: Topic, user: User) -> None:
        if not self.groups:
            return
        group = self.group_of(user.pk)
        if group not in self.groups:
            raise Refused(
                f"{user} is in no group, and the protocol requires one assessor of each group "
                f"({', '.join(self.groups)}) for a topic. Set the group among the assessors of the track.",
                code="group-missing",
            )
        if any(self.group_of(holder) == group for holder in self.holders(topic.pk)):
            raise Refused(
                f"Topic {topic} is already assigned to another {group} assessor than {user}; "
                "the protocol requires one assessor of each group.",
                code="group-has-topic",
            )

    def _groups_in(self, topic: Topic, seat: int) -> set[str]:
        """The groups of those who have a seat of a topic, or have judged in it, in any main batch."""
        people = {
            assessor
            for assessor, place in self.places.get(topic.pk, {}).items()
            if place.seat == seat and (place.n_judged or not place.is_withdrawn)
        }
        for assessor, others in self.elsewhere.get(topic.pk, {}).items():
            if any(other.kind == Batch.Kind.MAIN and other.seat == seat for other in others):
                people.add(assessor)
        return {self.group_of(assessor) for assessor in people} - {""}

    def mixed_topics(self) -> set[str]:
        """The codes of the topics whose seats are not of one group each, and of different groups."""
        mixed = set()
        for topic in self.topics.values() if self.groups else ():
            of_seats = [self._groups_in(topic, seat) for seat in range(1, self.batch.n_judges + 1)]
            groups = [group for of_seat in of_seats for group in of_seat]
            is_without = any(not self.group_of(holder) for holder in self.holders(topic.pk))
            if is_without or max(map(len, of_seats)) > 1 or len(groups) > len(set(groups)):
                mixed.add(topic.code)
        return mixed

    def faults(self) -> list[tuple[Topic, str]]:
        """Each topic with the reason why one of its assessors should not have it: other changes made it wrong."""
        faults = []
        for topic in sorted(self.topics.values(), key=lambda topic: topic.natural_code):
            reasons = [self._fault(topic, assessor) for assessor in self.holders(topic.pk)]
            faults += [(topic, reason) for reason in reasons if reason]
        return faults

    def _fault(self, topic: Topic, assessor: int) -> str:
        """The reason why the assessor would not get the topic now; empty if nothing is wrong."""
        judge = self.judges.get(assessor)
        if self.batch.is_shared:  # people come and go
            return ""
        if judge is None:  # what they have judged counts
            places = self.places[topic.pk]
            seat = places[assessor].seat
            n_judged = sum(place.n_judged for place in places.values() if place.seat == seat)
            is_done = n_judged >= self.sizes[topic.pk]
            return "" if is_done else "Its assessor is not an active assessor of the track."
        plan = self.copy_of(topic)
        try:
            plan.assign(topic, judge.user, freed=[plan.withdraw(topic, judge.user)])
        except Refused as refusal:
            return refusal.message
        return ""

    def _refusal(self, topic: Topic, user: User, seat: int) -> Refused | None:
        """The refusal of a free seat of a main batch; None if the assessor can have it."""
        own = self._own(topic, user)
        if own is not None and own.n_judged and own.seat != seat:
            return Refused(
                f"{user} has judged a part of topic {topic} already, in the place of an assessor who has the topic "
                "now. One person cannot judge a document twice. Assign the topic to somebody else, or reassign it from "
                "that assessor.",
                code="judged-in-other-seat",
            )
        for other in self._others(topic, user):
            if other.kind != Batch.Kind.MAIN or other.seat != seat:
                state = "has judged" if other.has_judged else "judges"
                return Refused(
                    f"{user} {state} documents of topic {topic} in the batch “{other.batch}” already, and would be a "
                    "second judge of them here. One person cannot judge a document twice. Assign the topic to "
                    "somebody else.",
                    code="judges-in-other-batch",
                )
        wrong = self._groups_in(topic, seat) - {self.group_of(user.pk)} if self.groups else set()
        if not wrong:
            return None
        return Refused(
            f"The part of topic {topic} that is free was judged by a {min(wrong)} assessor before, and {user} is in "
            "another group; the protocol requires one assessor of each group.",
            code="seat-of-other-group",
        )


def _already_assigned(topic: Topic, holders: str) -> Refused:
    message = f"Topic {topic} is already assigned to {holders} in this batch; withdraw it from them first."
    return Refused(message, code="topic-already-assigned")
