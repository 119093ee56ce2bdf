"""What the pooling room refuses, each with a whole sentence."""

from typing import TYPE_CHECKING

from assay.errors import Refused
from assay.formats.runs.reader import CheckedRun

if TYPE_CHECKING:
    from pooling.models import Run


class RunRefused(Refused):
    """A run whose file has errors; `checked` holds the report and, where there is one, the repair."""

    title = "The run was not taken"

    def __init__(self, checked: CheckedRun) -> None:
        n = sum(error.n for error in checked.report.errors)
        first = checked.report.errors[0]
        super().__init__(f"{checked.report.name} has {n:,} error{'s' * (n != 1)}, the first of them: {first}")
        self.checked = checked


class SubmissionRefused(Refused):
    """A run that its submitter may not submit, or that the track does not take."""

    title = "The run was not taken"


class SameBytes(SubmissionRefused):
    """A file that the team has submitted already."""

    def __init__(self, earlier: "Run") -> None:
        when = earlier.submitted_at.strftime("%Y-%m-%d %H:%M")
        super().__init__(
            f"The same file was submitted already, as {earlier.tag} on {when} UTC. "
            "Withdraw that run first if this one is to replace it."
        )
        self.earlier = earlier


class TagTaken(SubmissionRefused):
    """A tag that stands in the track already."""

    def __init__(self, tag: str) -> None:
        super().__init__(
            f"There is a run with the tag {tag} in this track already. Give this one another tag."
        )


class WithdrawalRefused(Refused):
    """A run that cannot be withdrawn any more, or not by this person."""

    title = "The run was not withdrawn"
