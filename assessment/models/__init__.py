from assessment.models.assignments import TopicAssignment
from assessment.models.batches import Batch, BatchEntry
from assessment.models.checks import Check, GoldUnit
from assessment.models.discussions import DiscussionNote
from assessment.models.imports import JudgmentImport
from assessment.models.judgments import Judgment
from assessment.models.tasks import Task

__all__ = [
    "Batch",
    "BatchEntry",
    "Check",
    "DiscussionNote",
    "GoldUnit",
    "Judgment",
    "JudgmentImport",
    "Task",
    "TopicAssignment",
]
