from assessment.models.assignments import TopicAssignment
from assessment.models.batches import Batch
from assessment.models.judgments import Judgment
from assessment.models.tasks import Task

__all__ = [
    "Batch",
    "Judgment",
    "Task",
    "TopicAssignment",
]
