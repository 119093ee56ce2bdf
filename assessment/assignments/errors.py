"""Refusals about assigning topics."""

from accounts.models import User
from assay.errors import Refused
from assessment.models import Batch
from tracks.models import Topic


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


class NobodyToShareWith(Refused):
    def __init__(self) -> None:
        super().__init__("Choose at least one assessor to share the topics among.")
