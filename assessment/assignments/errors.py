"""Refusals about assigning topics."""

from collections.abc import Sequence

from accounts.models import User
from assay.errors import Refused
from assessment.models import Batch
from tracks.models import Topic


class NotAnAssessor(Refused):
    def __init__(self, user: User, track: object) -> None:
        super().__init__(f"{user} is not an assessor of {track}; add them to the track's assessors first.")


class OnlyMachinesJudge(Refused):
    def __init__(self, user: User, batch: Batch) -> None:
        reason = (
            f"{user} is a machine; machines judge in machine batches only."
            if user.is_machine
            else f"The batch “{batch}” is for machines, and {user} is a person."
        )
        super().__init__(reason)


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
    def __init__(self, topic: Topic, user: User, batch: str, *, has_judged: bool) -> None:
        state = f"has already judged topic {topic}" if has_judged else f"already has topic {topic}"
        super().__init__(
            f"{user} {state} in the batch “{batch}”; in a dual batch another assessor must judge it."
        )


class JudgedInOtherSeat(Refused):
    def __init__(self, topic: Topic, user: User) -> None:
        super().__init__(
            f"{user} has judged a part of topic {topic} already, in the place of an assessor who has the topic now. "
            "Nobody is two judges of a document. Assign the topic to somebody else, or reassign it from that assessor."
        )


class JudgesInOtherBatch(Refused):
    def __init__(self, topic: Topic, user: User, batch: str, *, has_judged: bool) -> None:
        state = "has judged" if has_judged else "judges"
        super().__init__(
            f"{user} {state} documents of topic {topic} in the batch “{batch}” already, and would be a second judge of "
            "them here. Nobody is two judges of a document. Assign the topic to somebody else."
        )


class GroupMissing(Refused):
    def __init__(self, user: User, groups: Sequence[str]) -> None:
        super().__init__(
            f"{user} is in no group, and the protocol requires one assessor of each group ({', '.join(groups)}) for a "
            "topic. Set the group among the assessors of the track."
        )


class GroupHasTopic(Refused):
    def __init__(self, topic: Topic, user: User, group: str) -> None:
        super().__init__(
            f"Topic {topic} is already assigned to another {group} assessor than {user}; "
            "the protocol requires one assessor of each group."
        )


class SeatOfOtherGroup(Refused):
    def __init__(self, topic: Topic, user: User, group: str) -> None:
        super().__init__(
            f"The part of topic {topic} that is free was judged by a {group} assessor before, and {user} is in another "
            "group; the protocol requires one assessor of each group."
        )


class GroupInUse(Refused):
    def __init__(self, user: object, group: str, topics: Sequence[str]) -> None:
        named = ", ".join(topics[:5]) + ("…" if len(topics) > 5 else "")
        article = "an" if group[:1] in "aeiou" else "a"
        become = f"{article} {group} assessor" if group else "an assessor without group"
        super().__init__(
            f"{user} cannot become {become}: the protocol requires one assessor of each group for a topic, and that "
            f"would no longer be so in {named}. Withdraw what is not judged yet from one of the assessors first."
        )


class TopicNotAssigned(Refused):
    def __init__(self, topic: Topic, user: User) -> None:
        super().__init__(f"Topic {topic} is not assigned to {user} in this batch.")


class NoAssessorsChosen(Refused):
    def __init__(self) -> None:
        super().__init__("Choose at least one assessor.")


class PlanChanged(Refused):
    title = "The plan has changed"

    def __init__(self) -> None:
        super().__init__(
            "Somebody changed the assignments of this batch after you had seen the preview. Nothing was changed now. "
            "Look at the plan, and try again."
        )


class NothingToChange(Refused):
    def __init__(self, reason: str) -> None:
        super().__init__(f"Nothing would change: {reason}")
