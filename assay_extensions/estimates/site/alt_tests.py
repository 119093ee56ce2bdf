"""The alternative annotator test of a machine, on the judgments of a track."""

from django.shortcuts import get_object_or_404

from assay.statistics.agreement_report import Graded
from assay_extensions.metaevaluation.alt_test import EPSILON, SCORES, AltTest, Score, alt_test
from assessment.judgments.selectors import current_judgments
from assessment.models import MAIN_AND_DUAL, Batch
from tracks.models import Machine

CHUNK = 5_000


def machine_or_404(machine_id: int) -> Machine:
    """A machine with its track.

    Raises:
        Http404: There is no such machine.
    """
    machines = Machine.objects.select_related("assessor__track__protocol", "assessor__user")
    return get_object_or_404(machines, pk=machine_id)


def alt_test_of(machine: Machine, *, epsilon: float = EPSILON, score: Score = SCORES[0]) -> AltTest | None:
    """Compare a machine with each person on units of several people; None if it has judged nothing. Two queries."""
    track = machine.assessor.track
    people = current_judgments(track, *MAIN_AND_DUAL)
    own = current_judgments(track, Batch.Kind.MACHINE).filter(assessor=machine.assessor.user_id)
    rows = [
        (topic, docno, str(machine) if judgments is own else name, grade)
        for judgments in (people, own)
        for topic, docno, name, grade in judgments.values_list(
            "topic__code", "docno", "assessor__username", "grade"
        ).iterator(chunk_size=CHUNK)
        if grade is not None
    ]
    if not any(row[2] == str(machine) for row in rows):
        return None
    return alt_test(Graded.from_rows(rows), str(machine), epsilon=epsilon, score=score)
