"""Judgments in the admin."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponseBase

from assessment.judgments.exports import lines_of
from assessment.models import Judgment
from web.admin import LargeTableAdmin
from web.downloads import download


@admin.register(Judgment)
class JudgmentAdmin(LargeTableAdmin):
    list_display = [
        "id",
        "batch",
        "topic",
        "docno",
        "assessor",
        "choice",
        "grade",
        "seconds",
        "is_current",
        "source",
        "created_at",
    ]
    list_filter = ["is_current", "source", "track", "choice", ("batch", admin.RelatedOnlyFieldListFilter)]
    list_select_related = ["batch", "topic", "assessor"]
    search_fields = ["docno__exact", "topic__code__exact", "assessor__username"]
    search_help_text = "Docno, topic code or assessor"
    ordering = ["-id"]
    actions = ["export_csv"]

    @admin.action(description="Export the selected judgments as CSV", permissions=["view"])
    def export_csv(self, request: HttpRequest, judgments: QuerySet[Judgment]) -> HttpResponseBase:
        return download(lines_of(judgments, "csv"), "judgments.csv")
