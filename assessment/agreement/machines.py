"""The agreement of machines with people: the grade of each document by people, against that of a machine.

People's grade of a document is that of its adjudication; without one, the median of its main judgments, the lower one
of two. Non-answers are left out.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from assay.statistics import agreement_report as report
from assay.tables import Undefinable
from assessment.judgments.selectors import current_judgments
from assessment.models import Batch
from tracks.models import Machine, Track
from web.statements import Prepared

CHUNK = 5_000
PEOPLE = "people"
Grades = dict[tuple[str, str], int]  # by topic code and docno


def people_grades(track: Track) -> Grades:
    """People's grade of each document. One query."""
    given: defaultdict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    judgments = current_judgments(track, Batch.Kind.MAIN, Batch.Kind.ADJUDICATION)
    rows = judgments.values_list("topic__code", "docno", "batch__kind", "grade")
    for topic, docno, kind, grade in rows.iterator(chunk_size=CHUNK):
        if grade is not None:
            given[topic, docno][kind].append(grade)
    grades = {}
    for document, by_kind in given.items():
        settled, main = by_kind[Batch.Kind.ADJUDICATION], sorted(by_kind[Batch.Kind.MAIN])
        grades[document] = settled[-1] if settled else main[(len(main) - 1) // 2]
    return grades


def machine_grades(track: Track) -> dict[int, Grades]:
    """The grades of each machine, by the id of its account. One query."""
    judgments = current_judgments(track, Batch.Kind.MACHINE)
    rows = judgments.values_list("assessor", "topic__code", "docno", "grade")
    grades: defaultdict[int, Grades] = defaultdict(dict)
    for assessor, topic, docno, grade in rows.iterator(chunk_size=CHUNK):
        if grade is not None:
            grades[assessor][topic, docno] = grade
    return grades


_MACHINES = Prepared(
    lambda track: Machine.objects.filter(assessor__track=track).select_related("assessor__user", "owner")
)


def machines_of(track: Track) -> list[Machine]:
    """The machines of a track, by name and version."""
    return _MACHINES(track=track.pk)


class BiasRow(NamedTuple):
    """The mean of a machine's grade minus people's, or its change with an attribute of units, with a 95 % interval."""

    of: str
    kind: str  # leniency, slope, or preference
    n_units: int
    value: Undefinable
    low: Undefinable
    high: Undefinable

    @property
    def is_found(self) -> bool:
        """Return whether the interval leaves out 0."""
        return (self.low is not None and self.low > 0) or (self.high is not None and self.high < 0)


class MachineBias(NamedTuple):
    """The bias of a machine on units that people judged too, as it was when it was computed."""

    computed_at: datetime
    n_people: int
    rows: list[BiasRow]


BIASES: list[Callable[[Machine], MachineBias | None]] = []  # of extensions that compute it


def bias_of(machine: Machine) -> MachineBias | None:
    """The newest bias that an extension computed; None if there is none."""
    return next((bias for newest in BIASES if (bias := newest(machine)) is not None), None)


class Comparison(NamedTuple):
    """A machine against people, on the documents that both graded; `pair` is None if there are none."""

    machine: Machine
    n_judged: int
    pair: report.Pair | None
    topics: list[report.TopicAgreement]


def comparisons(track: Track) -> list[Comparison]:
    """Every machine of a track against people. Three queries; one if the track has no machines."""
    machines = machines_of(track)
    if not machines:
        return []
    people, by_machine = people_grades(track), machine_grades(track)
    protocol = track.protocol.parsed
    level, scale = protocol.agreement.binary_from, tuple(grade.value for grade in protocol.judging.grades)
    compared = []
    for machine in machines:
        own = by_machine.get(machine.assessor.user_id, {})
        rows = [
            (*document, side, grades[document])
            for document in sorted(people.keys() & own.keys())
            for side, grades in (("1", people), ("2", own))
        ]
        graded = report.Graded.from_rows(rows, scale)
        pair = next(iter(report.pairs(graded, level)), None)
        named = pair and replace(pair, first=PEOPLE, second=str(machine))
        compared.append(Comparison(machine, len(own), named, report.by_topic(graded, level)))
    return compared
