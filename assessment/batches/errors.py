"""What the judging room refuses, each in a whole sentence."""

from collections.abc import Iterable

from assessment.models import Batch, Judgment
from corpus.errors import Refused
from corpus.models import Topic, User
from protocols.schema import Grade, NonAnswer


class PoolNotReady(Refused):
    def __init__(self, pool: object) -> None:
        super().__init__(f"The pool “{pool}” is not ready; a batch is made from a pool that has been built.")


class BatchNameTaken(Refused):
    def __init__(self, name: str) -> None:
        super().__init__(f"The pool has a batch “{name}” already; give this one another name.")


class NotAnAssessor(Refused):
    def __init__(self, user: User, track: object) -> None:
        super().__init__(f"{user} is not an assessor of {track}; make them one first.")


class IsInATeam(Refused):
    def __init__(self, user: User, team: object) -> None:
        super().__init__(
            f"{user} is a member of the team “{team}”; who submits runs to a track cannot judge for it."
        )


class TopicNotPooled(Refused):
    def __init__(self, topic: Topic, batch: Batch) -> None:
        super().__init__(f"The pool “{batch.pool}” has nothing to judge for topic {topic}.")


class TopicIsGiven(Refused):
    def __init__(self, topic: Topic, holders: str) -> None:
        super().__init__(
            f"Topic {topic} is with {holders} in this batch already; withdraw it from them first."
        )


class JudgedBefore(Refused):
    def __init__(self, topic: Topic, user: User) -> None:
        super().__init__(
            f"{user} has judged topic {topic} on this pool before; a dual batch gives it to another assessor."
        )


class GroupHasTopic(Refused):
    def __init__(self, topic: Topic, user: User, group: str) -> None:
        super().__init__(
            f"Topic {topic} is with another {group} assessor than {user} already; the protocol has one of each group."
        )


class TopicNotWith(Refused):
    def __init__(self, topic: Topic, user: User) -> None:
        super().__init__(f"Topic {topic} is not with {user} in this batch.")


class NoTopics(Refused):
    def __init__(self, batch: Batch) -> None:
        super().__init__(f"The batch “{batch}” gives no topic to anybody; assign topics before you open it.")


class NobodyToShareWith(Refused):
    def __init__(self) -> None:
        super().__init__("Choose at least one assessor to share the topics among.")


class WrongState(Refused):
    def __init__(self, batch: Batch, wanted: str) -> None:
        super().__init__(f"The batch “{batch}” is {batch.get_status_display()}; it cannot be {wanted}.")


class BatchNotOpen(Refused):
    title = "This batch is not open"

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"The batch “{batch}” is {batch.get_status_display()}; tasks are given out while it is open."
        )


class BatchClosed(Refused):
    title = "This batch is closed"

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"The batch “{batch}” is closed: your judgment stands as it was. Ask the organizer if it must change."
        )


class TopicWithdrawn(Refused):
    def __init__(self, topic: Topic) -> None:
        super().__init__(f"Topic {topic} is no longer with you: your judgment stands as it was.")


class UnknownChoice(Refused):
    field = "choice"

    def __init__(self, choice: str, allowed: Iterable[Grade | NonAnswer]) -> None:
        keys = ", ".join(known.key for known in allowed)
        super().__init__(f"“{choice}” is not a choice of this protocol; use {keys}.")


class CommentNeeded(Refused):
    field = "comment"

    def __init__(self, choice: Grade | NonAnswer) -> None:
        super().__init__(f"“{choice.label}” needs a comment that says why.")


class MembersMissing(Refused):
    def __init__(self, n: int) -> None:
        missing = (
            f"{n} of its formulae {'has' if n == 1 else 'have'} no choice yet" if n else "it holds others"
        )
        super().__init__(f"A unit is judged whole, and {missing}: choose for each formula that is shown.")


class RequestReused(Refused):
    title = "This page was sent before"

    def __init__(self) -> None:
        super().__init__(
            "This page has sent another judgment before. Check your choice, and submit it again."
        )


class JudgedElsewhere(Refused):
    """The page did not show the judgment that stands: another tab, or another computer, has submitted one."""

    title = "Judged in another window"

    def __init__(self, judgment: Judgment, label: str) -> None:
        super().__init__(
            f"You judged this “{label}” in another window, at {judgment.created_at:%H:%M:%S} UTC. "
            "Submit again to change it to your choice here."
        )
        self.judgment = judgment
