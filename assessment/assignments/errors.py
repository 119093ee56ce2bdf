"""Refusals about assigning topics."""

from accounts.models import User
from assay.errors import Refused
from assessment.models import Batch
from tracks.models import Topic


class NotAnAssessor(Refused):
    def __init__(self, user: User, track: object) -> None:
        super().__init__(f"{user} is not an assessor of {track}; add them to the track's assessors first.")


class TeamMemberCannotJudge(Refused):
    def __init__(self, user: User, team: object) -> None:
        super().__init__(
            f"{user} is a member of the team “{team}”; a person who submits runs to a track cannot judge for it."
        )


class TopicNotPooled(Refused):
    def __init__(self, topic: Topic, batch: Batch) -> None:
        super().__init__(f"The pool “{batch.pool}” has no entries for topic {topic}.")


class TopicAlreadyAssigned(Refused):
    def __init__(self, topic: Topic, holders: str) -> None:
        super().__init__(
            f"Topic {topic} is already assigned to {holders} in this batch; withdraw it from them first."
        )


class AlreadyJudgedTopic(Refused):
    def __init__(self, topic: Topic, user: User) -> None:
        super().__init__(
            f"{user} has already judged topic {topic} of this pool; in a dual batch another assessor must judge it."
        )


class JudgedInOtherSeat(Refused):
    def __init__(self, topic: Topic, user: User) -> None:
        super().__init__(
            f"{user} has judged a part of topic {topic} already, in the place of an assessor who has the topic now. "
            "Nobody is two judges of a document. Assign the topic to somebody else, or reassign it from that assessor."
        )


class GroupHasTopic(Refused):
    def __init__(self, topic: Topic, user: User, group: str) -> None:
        super().__init__(
            f"Topic {topic} is already assigned to another {group} assessor than {user}; "
            "the protocol requires one assessor of each group."
        )


class TopicNotAssigned(Refused):
    def __init__(self, topic: Topic, user: User) -> None:
        super().__init__(f"Topic {topic} is not assigned to {user} in this batch.")


class NoAssessorsChosen(Refused):
    def __init__(self) -> None:
        super().__init__("Choose at least one assessor.")
