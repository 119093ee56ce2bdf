from assessment.models.batches import Batch
from assessment.models.assignments import TopicAssignment
from assessment.models.tasks import Task
from assessment.models.judgments import Judgment

__all__ = [
    "Batch",
    "Judgment",
    "Task",
    "TopicAssignment",
]
