"""Registers the admin pages of this app with Django, which looks for them here."""

from assessment.batches.admin import BatchAdmin
from assessment.judgments.admin import JudgmentAdmin
from assessment.tasks.admin import TaskAdmin

__all__ = ["BatchAdmin", "JudgmentAdmin", "TaskAdmin"]
