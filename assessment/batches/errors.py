"""What the judging room refuses, each in a whole sentence."""

from assay.errors import Refused
from assessment.models import Batch
from tracks.models import Topic


class PoolNotReady(Refused):
    def __init__(self, pool: object) -> None:
        super().__init__(f"The pool “{pool}” is not ready; a batch is made from a pool that has been built.")


class BatchNameTaken(Refused):
    def __init__(self, name: str) -> None:
        super().__init__(f"The pool has a batch “{name}” already; give this one another name.")


class NoTopics(Refused):
    def __init__(self, batch: Batch) -> None:
        super().__init__(f"The batch “{batch}” gives no topic to anybody; assign topics before you open it.")


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
