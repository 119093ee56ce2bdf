from assessment.models.batches import (
    MAIN_AND_DUAL,
    MOST_JUDGES,
    Batch,
    BatchEntry,
    BatchLink,
    DiscussionNote,
    TopicAssignment,
)
from assessment.models.imports import JudgmentImport, ProjectImport
from assessment.models.judgments import Judgment
from assessment.models.tasks import Check, GoldUnit, Task

__all__ = [
    "MAIN_AND_DUAL",
    "MOST_JUDGES",
    "Batch",
    "BatchEntry",
    "BatchLink",
    "Check",
    "DiscussionNote",
    "GoldUnit",
    "Judgment",
    "JudgmentImport",
    "ProjectImport",
    "Task",
    "TopicAssignment",
]
