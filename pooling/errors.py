"""Refusals about runs and pools."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from assay.errors import Refused
from assay.formats.reports import Complaint, Report
from assay.formats.runs.reader import CheckedRun
from web.pages import counted

if TYPE_CHECKING:
    from pooling.models import Run


class RunRefused(Refused):
    """A run with several errors, or with errors in its file.

    `checked` has the report on the file and, if possible, the repaired file. `others` are refusals that are not about
    the file, such as a taken tag. `lines` are all errors with what is accepted instead.
    """

    title = "The run was not accepted"

    def __init__(self, checked: CheckedRun, others: "Sequence[SubmissionRefused]" = ()) -> None:
        self.checked, self.others = checked, others
        errors = self.report.errors
        n = sum(error.n for error in errors)
        super().__init__(f"{checked.report.file_name} has {counted(n, 'error')}. The first: {errors[0]}")
        self.lines = [
            f"{error} Accepted: {error.accepted}" if error.accepted else str(error) for error in errors
        ]
        self.errors = [error.as_error() for error in errors]

    @property
    def report(self) -> Report:
        """The report on the file with the other refusals, as errors without a line."""
        more = (
            Complaint(refusal.code, "error", refusal.message, accepted="", n=1) for refusal in self.others
        )
        return replace(self.checked.report, errors=(*self.checked.report.errors, *more))


class SubmissionRefused(Refused):
    title = "The run was not accepted"


class SameBytes(SubmissionRefused):
    """A file that the team has already submitted."""

    def __init__(self, earlier: "Run") -> None:
        when = earlier.submitted_at.strftime("%Y-%m-%d %H:%M")
        how = "You can replace that run with it." if earlier.is_submitted else "That run is disqualified."
        super().__init__(f"Your team already submitted this file as {earlier.tag} on {when} UTC. {how}")
        self.earlier = earlier


class TagTaken(SubmissionRefused):
    """A tag of another submitted run of the track. It is named only to its team, whose `earlier` run it is."""

    def __init__(self, tag: str, *, own: "Run | None" = None) -> None:
        sentence = f"The track already has a run with the tag {tag}; choose another tag."
        if own is not None:
            state = f"submitted {own.submitted_at:%Y-%m-%d %H:%M} UTC" if own.is_submitted else "disqualified"
            advice = "Replace it, or choose" if own.is_submitted else "Choose"
            sentence = (
                f"Your team ({own.team}) already has a run with the tag {tag}, {state}. {advice} another tag."
            )
        super().__init__(sentence)
        self.earlier = own


change_refused = partial(Refused, code="change-refused", title="The run was not changed")
pool_refused = partial(Refused, code="pool-refused", title="The pool cannot be built")
