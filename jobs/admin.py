"""Jobs in the admin, to read."""

from django.contrib import admin

from jobs.models import Job
from web.admin import ReadOnly


@admin.register(Job)
class JobAdmin(ReadOnly, admin.ModelAdmin[Job]):
    list_display = ["title", "state", "attempt", "created_at", "finished_at"]
    list_filter = ["state", "kind"]
    search_fields = ["=request_id"]
    wide_columns = ["arguments", "result"]
