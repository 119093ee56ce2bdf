"""What changes batches, tasks and judgments. Every change of them goes through here.

Locks are taken in one order, so that no two of these wait for each other: the batch (shared while judging, alone
while it is managed), the assessor, the tasks by id, the topics given, the judgments.
"""

from assessment.services.batches import close_batch, create_batch, edit_batch, open_batch
from assessment.services.judgments import Answer, submit_judgment, submit_members
from assessment.services.tasks import accept_next, expire_assignments
from assessment.services.topics import (
    assign_topics,
    check_may_judge,
    reassign_topic,
    share_topics,
    withdraw_topic,
)

__all__ = [
    "Answer",
    "accept_next",
    "assign_topics",
    "check_may_judge",
    "close_batch",
    "create_batch",
    "edit_batch",
    "expire_assignments",
    "open_batch",
    "reassign_topic",
    "share_topics",
    "submit_judgment",
    "submit_members",
    "withdraw_topic",
]
