"""Propose changes that share the topics of a batch: evenly, to somebody who comes later, or away from somebody.

Each function works on a copy of the plan, tries the rules there, and returns the changes. `loads` and `to_do` count
units.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from types import MappingProxyType
from typing import NamedTuple

from accounts.models import User
from assay.errors import Refused
from assessment.models import Batch
from assessment.planning.rules import Change, Plan
from tracks.models import Topic

FOR_ALL = (Batch.Kind.TRAINING, Batch.Kind.MACHINE)  # each assessor judges all topics
ToDo = Mapping[tuple[int, int], int]  # topic, assessor: the units that they still have to judge


def n_missing(plan: Plan, topic: Topic) -> int:
    """The number of assessors that a topic still needs. In a batch that is for everyone, it needs nobody."""
    if plan.batch.kind in FOR_ALL:
        return 0
    seats = plan.batch.n_judges if plan.is_main else 1
    return max(0, seats - len({place.seat for place in plan.holders(topic.pk).values()}))


class Part(NamedTuple):
    """The units that somebody gets, about, and at most."""

    target: float
    most: float = inf


def parts_of(text: str, plan: Plan, assessors: Sequence[User]) -> dict[int, Part]:
    """The part of each assessor, from a text such as `ada 50%, emmy 200`. Others share the rest evenly.

    Raises:
        Refused: The text cannot be read, names somebody else, or gives more than there is.
    """
    if not text.strip():
        return {}
    if plan.batch.kind in FOR_ALL or plan.batch.is_shared:
        raise _wrong("Everybody judges all topics of this batch. Leave the shares out.")
    by_name = {user.username: user.pk for user in assessors}
    n_units = sum(plan.sizes[topic] for topic in plan.topics) * (plan.batch.n_judges if plan.is_main else 1)
    parts: dict[int, Part] = {}
    for piece in text.replace("\n", ",").split(","):
        name, _, amount = piece.strip().replace(" %", "%").rpartition(" ")
        number = amount.removesuffix("%")
        if not piece.strip():
            continue
        if not (number.isascii() and number.isdecimal() and len(number) <= 7):
            raise _wrong(
                f"“{piece.strip()[:60]}” is not a share; use a name with a number or percent, such as ada 50%."
            )
        if name.strip() not in by_name:
            raise _wrong(f"“{name.strip()[:60]}” is not chosen; name {', '.join(by_name)}.")
        pk, n = by_name[name.strip()], int(number)
        if pk in parts:
            raise _wrong(f"“{name.strip()}” has two shares; give one.")
        parts[pk] = Part(n * n_units / 100) if amount.endswith("%") else Part(n, n)
    total = sum(part.target for part in parts.values()) / max(n_units, 1)
    rest = [pk for pk in by_name.values() if pk not in parts]
    if total > 1 + 1e-9:
        raise _wrong(f"The shares add up to {total:.0%} of {n_units:,} units; use at most 100%.")
    if not rest and total < 1 - 1e-9 and all(part.most == inf for part in parts.values()):
        raise _wrong(
            f"The shares add up to {total:.0%}; use 100%, or choose somebody without a share for the rest."
        )
    return parts | {pk: Part((1 - total) * n_units / len(rest)) for pk in rest}


def _wrong(message: str) -> Refused:
    return Refused(message, code="wrong-shares", title="The shares cannot be used")


def changes_to_share(
    plan: Plan,
    assessors: Sequence[User],
    loads: Mapping[int, int],
    parts: Mapping[int, Part] = MappingProxyType({}),
) -> list[Change]:
    """Assign what nobody has: the largest topic first, each to those with the least load who may judge it.

    With parts, each to those who lack most of theirs; nobody gets more than the most. A topic is not divided.
    """
    plan = plan.copy()
    load = {user.pk: loads.get(user.pk, 0) for user in assessors}
    is_for_all = plan.batch.kind in FOR_ALL or plan.batch.is_shared
    changes = []
    for topic in sorted(plan.topics.values(), key=lambda topic: (-plan.sizes[topic.pk], topic.code)):
        missing, size = len(assessors) if is_for_all else n_missing(plan, topic), plan.sizes[topic.pk]
        able = [user for user in assessors if not parts or _has_room(load[user.pk] + size, parts[user.pk])]
        for user in sorted(able, key=lambda user: load[user.pk] - (parts[user.pk].target if parts else 0)):
            if missing > 0 and user.pk not in plan.holders(topic.pk) and may_get(plan, topic, user):
                changes.append(Change(topic, user, is_withdrawn=False))
                load[user.pk] += size
                missing -= 1
    return changes


def _has_room(load: int, part: Part) -> bool:
    return part.target > 0 and load <= part.most


def may_get(plan: Plan, topic: Topic, user: User, freed: Sequence[int] = ()) -> bool:
    """Assign the topic in the plan; False if that is refused."""
    try:
        plan.assign(topic, user, freed=freed)
    except Refused:
        return False
    return True


def loads_of(to_do: ToDo) -> Counter[int]:
    """The units that each assessor still has to judge."""
    loads: Counter[int] = Counter()
    for (_, assessor), n in to_do.items():
        loads[assessor] += n
    return loads


def changes_to_take_over(plan: Plan, person: User, heirs: Sequence[User], to_do: ToDo) -> list[Change]:
    """Take all topics that are not finished from a person, and give each to the heir with the least to do.

    What none of the heirs may judge stays open for somebody else.
    """
    plan, load = plan.copy(), loads_of(to_do)
    held = [topic for topic in plan.topics.values() if to_do.get((topic.pk, person.pk))]
    changes = []
    for topic in sorted(held, key=lambda topic: (-to_do[topic.pk, person.pk], topic.code)):
        seat = plan.withdraw(topic, person)
        changes.append(Change(topic, person, is_withdrawn=True))
        able = (user for user in sorted(heirs, key=lambda user: load[user.pk]) if user != person)
        heir = next((user for user in able if may_get(plan, topic, user, freed=[seat])), None)
        if heir is not None:
            changes.append(Change(topic, heir, is_withdrawn=False))
            load[heir.pk] += to_do[topic.pk, person.pk]
    return changes


def changes_to_join(
    plan: Plan, newcomer: User, others: Sequence[User], to_do: ToDo, *, is_begun_moved: bool
) -> list[Change]:
    """Give a person who comes late a fair part of what is open: what nobody has, then topics of those with most to do.

    In a training or machine batch, and in one that is open to join, they get all topics. Topics that somebody has begun
    move only if asked for.
    """
    if plan.batch.kind in FOR_ALL or plan.batch.is_shared:
        plan = plan.copy()
        given = [topic for topic in plan.topics.values() if may_get(plan, topic, newcomer)]
        return [Change(topic, newcomer, is_withdrawn=False) for topic in given]
    opened = plan.batch.kind != Batch.Kind.DUAL  # in second judgments, most topics are for nobody
    load = loads_of(to_do)
    changes = changes_to_share(plan, [newcomer, *others], load) if opened else []
    plan = plan.copy()
    plan.apply(changes)
    for change in changes:
        load[change.assessor.pk] += plan.sizes[change.topic.pk]
    kept = {key: n for key, n in to_do.items() if is_begun_moved or not plan.places[key[0]][key[1]].n_judged}
    return changes + _evened(plan, newcomer, others, kept, load)


def _evened(
    plan: Plan, newcomer: User, others: Sequence[User], to_do: ToDo, load: Counter[int]
) -> list[Change]:
    """Move topics to the newcomer while that makes the larger of the two loads smaller."""
    changes: list[Change] = []
    left = dict(to_do)
    while True:
        donors = sorted(others, key=lambda user: -load[user.pk])
        moves = (_best_move(plan, donor, newcomer, left, load) for donor in donors)
        move = next((move for move in moves if move is not None), None)
        if move is None:
            return changes
        topic, donor = move
        n = left.pop((topic.pk, donor.pk))
        load[donor.pk] -= n
        load[newcomer.pk] += n
        changes += [Change(topic, donor, is_withdrawn=True), Change(topic, newcomer, is_withdrawn=False)]


def _best_move(
    plan: Plan, donor: User, newcomer: User, to_do: ToDo, load: Counter[int]
) -> tuple[Topic, User] | None:
    """Move the donor's topic that leaves the two loads most alike, of those that the newcomer may judge."""
    gap = load[donor.pk] - load[newcomer.pk]
    held = [topic for topic in plan.topics.values() if 0 < to_do.get((topic.pk, donor.pk), 0) < gap]
    units = {topic: to_do[topic.pk, donor.pk] for topic in held}
    for topic in sorted(held, key=lambda topic: (abs(gap - 2 * units[topic]), units[topic], topic.code)):
        place = plan.places[topic.pk][donor.pk]
        if may_get(plan, topic, newcomer, freed=[plan.withdraw(topic, donor)]):
            return topic, donor
        plan.places[topic.pk][donor.pk] = place
    return None
