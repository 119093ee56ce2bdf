"""Refusals about batches."""

from assay.errors import Refused
from assessment.models import Batch
from tracks.models import Topic


class PoolNotReady(Refused):
    def __init__(self, pool: object) -> None:
        super().__init__(f"The pool “{pool}” is not ready. Create a batch once the pool is built.")


class BatchNameTaken(Refused):
    def __init__(self, name: str) -> None:
        super().__init__(f"The pool already has a batch “{name}”; choose another name.")


class NoTopics(Refused):
    def __init__(self, batch: Batch) -> None:
        super().__init__(f"The batch “{batch}” has no assigned topics. Assign topics before you open it.")


class TopicsAssigned(Refused):
    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"The batch “{batch}” has assigned topics, so its units are fixed. Create another batch for other units."
        )


class WrongState(Refused):
    def __init__(self, batch: Batch, wanted: str) -> None:
        super().__init__(f"The batch “{batch}” is {batch.get_status_display()}; it cannot be {wanted}.")


class BatchNotOpen(Refused):
    title = "This batch is not open"

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"The batch “{batch}” is {batch.get_status_display()}. You can take tasks only while it is open."
        )


class BatchClosed(Refused):
    title = "This batch is closed"

    def __init__(self, batch: Batch) -> None:
        super().__init__(
            f"The batch “{batch}” is closed, so your judgment did not change. Ask the organizer if it must change."
        )


class TopicWithdrawn(Refused):
    def __init__(self, topic: Topic) -> None:
        super().__init__(f"Topic {topic} is no longer assigned to you, so your judgment did not change.")
