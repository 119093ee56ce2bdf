"""What others may read of batches, tasks and judgments, and who sees what."""

from assessment.selectors.desk import (
    Choice,
    DeskBatch,
    OwnJudgment,
    TopicProgress,
    batches_of,
    choices,
    closed_batches,
    desk,
    desk_batch,
    own_judgments,
    progress,
    task_page,
    tasks_of,
)
from assessment.selectors.members import filled_in, members_to_judge
from assessment.selectors.organizer import (
    BatchProgress,
    assessors_of,
    batch_page,
    batches_for_organizer,
    for_export,
    pooled_topics,
    track_progress,
)

__all__ = [
    "BatchProgress",
    "Choice",
    "DeskBatch",
    "OwnJudgment",
    "TopicProgress",
    "assessors_of",
    "batch_page",
    "batches_for_organizer",
    "batches_of",
    "choices",
    "closed_batches",
    "desk",
    "desk_batch",
    "filled_in",
    "for_export",
    "members_to_judge",
    "own_judgments",
    "pooled_topics",
    "progress",
    "task_page",
    "tasks_of",
    "track_progress",
]
