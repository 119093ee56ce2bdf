"""The grades of either judge as qrels: what disagreement does to a leaderboard."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple

from assay.formats.qrels.columns import QrelsColumns
from assay.formats.qrels.reader import columns_from
from assessment.agreement.selectors import MAIN_ROUND, round_of, shared_judgments
from assessment.machines.comparison import PEOPLE, machine_grades, machines_of, people_grades
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
    scale = _scale(track)
    for name, compared in _with_machines(track):
        names.append((PEOPLE, name))
        chosen.append(compared)
    return [_sides(pair, shared, track, scale) for pair, shared in zip(names, chosen, strict=True) if shared]


def _with_machines(track: Track) -> Iterator[tuple[str, dict[Unit, tuple[int, int]]]]:
    """The documents that people and a machine graded, with the grades of both, for each machine."""
    machines = machines_of(track)
    if not machines:
        return
    people, by_machine = people_grades(track), machine_grades(track)
    for machine in machines:
        own = by_machine.get(machine.assessor.user_id, {})
        yield (
            f"machine {machine}",
            {unit: (people[unit], own[unit]) for unit in people.keys() & own.keys()},
        )


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


def _scale(track: Track) -> int:
    """By how much a grade is multiplied to be on the scale of the qrels."""
    protocol = track.protocol.parsed
    return protocol.judging.judges if protocol.qrels.aggregate == "sum" else 1


def _sides(names: tuple[str, str], shared: dict[Unit, tuple[int, int]], track: Track, scale: int) -> Sides:
    unit_of = _units_of_members(track)
    sides: tuple[dict[Unit, int], dict[Unit, int]] = ({}, {})
    for (topic, docno), pair in shared.items():
        unit = topic, unit_of.get((topic, docno), docno)
        for side, grade in zip(sides, pair, strict=True):
            side[unit] = max(side.get(unit, grade), grade)
    columns = (_columns(sides[0], scale), _columns(sides[1], scale))
    return Sides(names, len({topic for topic, _ in sides[0]}), len(sides[0]), columns)


def _units_of_members(track: Track) -> dict[Unit, str]:
    """The formula of each instance that is judged in the pools of a track."""
    if track.protocol.parsed.judging.layout != "formula-instances":
        return {}
    members = PoolMember.objects.filter(entry__pool__track=track, position__gt=0)
    rows: Iterable[tuple[str, str, str]] = members.values_list(
        "entry__topic__code", "docno", "entry__docno"
    ).iterator(chunk_size=5_000)
    return {(topic, docno): unit for topic, docno, unit in rows}


def _columns(grades: dict[Unit, int], scale: int) -> QrelsColumns:
    return columns_from(
        (topic.encode(), docno.encode(), grade * scale) for (topic, docno), grade in grades.items()
    )
