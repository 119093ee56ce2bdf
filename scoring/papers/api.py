"""The tables of overview papers for programs."""

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay.papers.tables import PaperTable, as_file, header_of, rows_of
from scoring.papers import pages
from tracks.tracks.selectors import tracks_for
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.views import ApiView

PARAMETERS = {
    "other": "Slug of a track whose columns are left of those of this track; repeat it for more.",
    "measure": "A measure to print; repeat it for more. All, but the shares of judged documents, if it is missing.",
    "digits": "Decimals of the values: 4, 3 or 2.",
}


class PaperTableSerializer(serializers.Serializer[PaperTable]):
    """A table ready to print."""

    name = serializers.CharField()
    title = serializers.CharField()
    caption = serializers.CharField(help_text="What the table has, and what its marks mean.")
    header = serializers.SerializerMethodField(help_text="A heading for each column.")
    rows = serializers.SerializerMethodField(help_text="The cells of each row, as printed.")
    tex = serializers.SerializerMethodField(help_text="The table in LaTeX, for the package booktabs.")
    csv = serializers.SerializerMethodField(help_text="The table as a CSV file.")

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_header(self, table: PaperTable) -> list[str]:
        return header_of(table)

    @extend_schema_field(
        serializers.ListField(child=serializers.ListField(child=serializers.CharField(allow_blank=True)))
    )
    def get_rows(self, table: PaperTable) -> list[list[str]]:
        return rows_of(table)

    def get_tex(self, table: PaperTable) -> str:
        return as_file(table, "tex")

    def get_csv(self, table: PaperTable) -> str:
        return as_file(table, "csv")


class Tables(ApiView):
    tag = "Leaderboards"
    permission_classes = [Organizer]
    serializer_class = PaperTableSerializer
    parameters = tuple(PARAMETERS)

    @operation(
        "get_paper_tables",
        responses=PaperTableSerializer(many=True),
        parameters=[
            OpenApiParameter(name, many=name != "digits", description=text)
            for name, text in PARAMETERS.items()
        ],
    )
    def get(self, request: Request, slug: str) -> Response:
        """Read the tables of an overview paper: runs, participants, topics by category, results."""
        user = person_of(request)
        track = get_object_or_404(tracks_for(user), slug=slug)
        page = pages.tables_page(user, track, request.query_params)
        if page.form.errors:
            errors: Any = page.form.errors
            raise serializers.ValidationError(errors)
        rows: Any = page.tables
        return Response(PaperTableSerializer(rows, many=True).data)


urlpatterns = [path("tracks/<slug:slug>/tables/", Tables.as_view(), name="paper_tables")]
