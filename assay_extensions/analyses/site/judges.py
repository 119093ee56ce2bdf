"""The grades of either judge as qrels: the effect of disagreement on a leaderboard."""

from collections import defaultdict
from itertools import combinations
from typing import NamedTuple

from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import columns_from
from assessment.agreement.machines import PEOPLE, machine_grades, machines_of, people_grades
from assessment.judgments.disagreements import MAIN_ROUND, round_of, shared_judgments
from pooling.models import PoolMember
from tracks.models import Track

Unit = tuple[str, str]  # topic code, docno
FIRST, SECOND = "first judge", "second judge"


class Sides(NamedTuple):
    """Units that two judges graded, with the grades of either one."""

    names: tuple[str, str]
    n_topics: int
    n_units: int
    columns: tuple[QrelsColumns, QrelsColumns]


def sides_of(track: Track) -> list[Sides]:
    """The first and the second judge of all units with two grades, then every two assessors who share units, then
    people and each machine.

    An instance counts for its formula, which has the highest grade of its instances. Where the protocol sums the grades
    of its judges, each side counts as if all judges agreed with it.
    """
    grades = _grades(track)
    chosen = [{unit: (given[0][1], given[1][1]) for unit, given in grades.items()}]
    names = [(FIRST, SECOND)]
    people = sorted({name for given in grades.values() for name, _ in given})
    for pair in combinations(people, 2):
        shared = {
            unit: (dict(given)[pair[0]], dict(given)[pair[1]])
            for unit, given in grades.items()
            if {name for name, _ in given} >= set(pair)
        }
        if shared:
            names.append(pair)
            chosen.append(shared)
    if machines := machines_of(track):  # the documents that people and a machine graded
        by_people, by_machine = people_grades(track), machine_grades(track)
        for machine in machines:
            own = by_machine.get(machine.assessor.user_id, {})
            names.append((PEOPLE, f"machine {machine}"))
            chosen.append({unit: (by_people[unit], own[unit]) for unit in by_people.keys() & own.keys()})
    protocol = track.protocol.parsed
    # a grade is multiplied to be on the scale of the qrels
    scale = protocol.judging.judges if protocol.qrels.aggregate == "sum" else 1
    unit_of: dict[Unit, str] = {}
    if protocol.judged.has_members:  # the formula of each instance in the pools
        members = PoolMember.objects.filter(entry__pool__track=track, position__gt=0)
        rows = members.values_list("entry__topic__code", "docno", "entry__docno")
        unit_of = {(topic, docno): unit for topic, docno, unit in rows.iterator(chunk_size=5_000)}
    return [
        _sides(pair, shared, unit_of, scale) for pair, shared in zip(names, chosen, strict=True) if shared
    ]


def _grades(track: Track) -> dict[Unit, list[tuple[str, int]]]:
    """The assessors of each document with several grades, in the order of their judgments."""
    rows = shared_judgments(track, round_of(track, MAIN_ROUND)).exclude(grade=None)
    given: defaultdict[Unit, list[tuple[str, int]]] = defaultdict(list)
    for topic, docno, name, grade in rows.values_list(
        "topic__code", "docno", "assessor__username", "grade"
    ).iterator(chunk_size=5_000):
        if grade is not None and name not in dict(given[topic, docno]):
            given[topic, docno].append((name, grade))
    return {unit: several for unit, several in given.items() if len(several) > 1}


def _sides(
    names: tuple[str, str], shared: dict[Unit, tuple[int, int]], unit_of: dict[Unit, str], scale: int
) -> Sides:
    sides: tuple[dict[Unit, int], dict[Unit, int]] = ({}, {})
    for (topic, docno), pair in shared.items():
        unit = topic, unit_of.get((topic, docno), docno)
        for side, grade in zip(sides, pair, strict=True):
            side[unit] = max(side.get(unit, grade), grade)
    columns = (_columns(sides[0], scale), _columns(sides[1], scale))
    return Sides(names, len({topic for topic, _ in sides[0]}), len(sides[0]), columns)


def _columns(grades: dict[Unit, int], scale: int) -> QrelsColumns:
    return columns_from(
        (topic.encode(), docno.encode(), grade * scale) for (topic, docno), grade in grades.items()
    )
