"""Which changes share the topics of a batch: evenly, to somebody who comes later, or away from somebody.

Each function works on a copy of the plan, tries the rules there, and returns the changes. `loads` and `to_do` count
units.
"""

from collections.abc import Iterable, Mapping, Sequence

from accounts.models import User
from assay.errors import Refused
from assessment.assignments.rules import Change, Plan
from assessment.models import Batch
from tracks.models import Topic


def n_seats(plan: Plan, assessors: int) -> int:
    """How many assessors a topic gets: in a training batch all of them, in a main batch the judges of a unit."""
    seats = {Batch.Kind.TRAINING.value: assessors, Batch.Kind.MAIN.value: plan.rules.judges}
    return seats.get(plan.batch.kind, 1)


def shared(plan: Plan, assessors: Sequence[User], loads: Mapping[int, int]) -> list[Change]:
    """Assign what nobody has: the largest topic first, each to those with the least load who may judge it."""
    plan = plan.copy()
    load = {user.pk: loads.get(user.pk, 0) for user in assessors}
    seats = n_seats(plan, len(assessors))
    changes = []
    for topic in _largest_first(plan, plan.topics.values()):
        missing = seats - len(plan.holders(topic.pk))
        for user in sorted(assessors, key=lambda user: load[user.pk]):
            if missing > 0 and user.pk not in plan.holders(topic.pk) and _may(plan, topic, user):
                changes.append(Change(topic, user, is_withdrawn=False))
                load[user.pk] += plan.sizes[topic.pk]
                missing -= 1
    return changes


def _largest_first(plan: Plan, topics: Iterable[Topic]) -> list[Topic]:
    return sorted(topics, key=lambda topic: (-plan.sizes[topic.pk], topic.code))


def _may(plan: Plan, topic: Topic, user: User) -> bool:
    """Assign the topic in the plan; False if that is refused."""
    try:
        plan.assign(topic, user)
    except Refused:
        return False
    return True
