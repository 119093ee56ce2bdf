"""Refusals about runs and pools."""

from typing import TYPE_CHECKING

from assay.errors import Refused
from assay.formats.runs.reader import CheckedRun
from web.pages import counted, size

if TYPE_CHECKING:
    from participation.models import Team
    from pooling.models import Run


class RunRefused(Refused):
    """A run whose file has errors. `checked` has the report and, if possible, the repaired file.

    `lines` are its errors with what is accepted instead.
    """

    title = "The run was not accepted"

    def __init__(self, checked: CheckedRun) -> None:
        n = sum(error.n for error in checked.report.errors)
        first = checked.report.errors[0]
        super().__init__(f"{checked.report.name} has {counted(n, 'error')}. The first: {first}")
        self.checked = checked
        self.lines = [f"{error} Accepted: {error.accepted}" for error in checked.report.errors]
        self.errors = [error.as_error() for error in checked.report.errors]


class SubmissionRefused(Refused):
    title = "The run was not accepted"


class NoHeader(Refused):
    title = "The file has no place for a header"


class RemindersRefused(Refused):
    title = "No reminder was sent"


class SameBytes(SubmissionRefused):
    """A file that the team has already submitted."""

    def __init__(self, earlier: "Run") -> None:
        when = earlier.submitted_at.strftime("%Y-%m-%d %H:%M")
        how = (
            "To replace that run, withdraw it first." if earlier.is_submitted else "That run is disqualified."
        )
        super().__init__(f"Your team already submitted this file as {earlier.tag} on {when} UTC. {how}")
        self.earlier = earlier


class DailyLimitReached(SubmissionRefused):
    """The team submitted as many runs of a phase as it may in a day."""

    def __init__(self, team: "Team", today: str) -> None:
        super().__init__(f"{team} cannot submit another run today: {today}.")


class TagTaken(SubmissionRefused):
    """A tag of another submitted run of the track."""

    def __init__(self, tag: str) -> None:
        super().__init__(f"The track already has a run with the tag {tag}; choose another tag.")


class DiskLimitReached(SubmissionRefused):
    """A run for which the team has too little disk space left."""

    def __init__(self, team: "Team", *, used: int, needed: int, limit: int) -> None:
        super().__init__(
            f"{team} may use {size(limit)} on the disk. Its runs use {size(used)}, and this one needs "
            f"{size(needed)}. Withdrawn runs count, because they are kept. Ask an organizer for a higher limit."
        )


class ChangeRefused(Refused):
    title = "The run was not changed"


class WithdrawalRefused(Refused):
    title = "The run was not withdrawn"


class RunUnreadable(Refused):
    """A stored run that cannot be read."""

    title = "The run cannot be read"

    def __init__(self, tag: str, reason: Exception) -> None:
        super().__init__(f"The stored documents of the run {tag} cannot be read: {reason}.")


class PoolRefused(Refused):
    title = "The pool cannot be built"


class StatisticsMissing(PoolRefused):
    """A pool without statistics: Assay did not build it."""

    title = "The pool has no statistics"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Pool {name} has no statistics of its runs, so this page or file cannot be made. Its units can be judged."
        )
