"""Tasks in the admin."""

from django.contrib import admin

from assessment.models import Task
from web.admin import LargeTableAdmin


@admin.register(Task)
class TaskAdmin(LargeTableAdmin):
    list_display = [
        "id",
        "batch",
        "topic",
        "docno",
        "assessor",
        "status",
        "accepted_at",
        "expires_at",
        "submitted_at",
    ]
    list_filter = ["status", ("batch", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["batch", "entry__topic", "assessor"]
    search_fields = ["entry__docno__exact", "entry__topic__code__exact", "assessor__username"]
    search_help_text = "Docno, topic code or assessor"
    ordering = ["-id"]

    @admin.display(ordering="entry__topic__code")
    def topic(self, task: Task) -> str:
        return task.entry.topic.code

    @admin.display
    def docno(self, task: Task) -> str:
        return task.entry.docno
