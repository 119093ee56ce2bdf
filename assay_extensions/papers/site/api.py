"""The tables of overview papers, and the comparison of test collections, for programs."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of
from assay.plots import Plot
from assay.tables.figures import as_pgfplots, as_svg
from assay.tables.paper import PaperTable, as_file, exact_rows_of, header_of, rows_of
from assay_extensions.papers.site import pages
from assay_extensions.papers.site.forms import DIGITS
from assay_extensions.papers.site.pages import ComparisonPage, Missing, TablesPage
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.permissions import Organizer, WithRole
from web.api.views import Endpoints, get, parameter

MEASURE = {
    "measure": "A measure to print; repeat it for more. All, but the shares of judged documents, if it is missing.",
    "digits": "Decimals of what is printed: 4, 3 or 2.",
}
OF_TABLES = {
    "other": "Slug of a track whose columns are left of those of this track; repeat it for more.",
    **MEASURE,
    "question": "Key of a public question about runs whose answers the results have; repeat it for more. All, "
    "if it is missing.",
    "baselines": "`automatic`: compare the best run with the strongest automatic baseline without oracles. Otherwise "
    "with the strongest baseline.",
}
OF_COMPARISON = {
    "track": "Slug of a track; repeat it for each test collection.",
    "topic": "Code of the topic whose units are examples of the grades.",
    "level": "Lowest grade that counts as relevant in the numbers of units; that of each protocol, if it is missing.",
    "label": "The label that divides topics into classes: complexity, or the most common one, if it is missing.",
    **MEASURE,
}
SEVERAL = {"track", "other", "measure", "question"}


def _described(parameters: Mapping[str, str]) -> list[OpenApiParameter]:
    return [
        parameter(
            name,
            text,
            values=DIGITS if name == "digits" else (),
            kind="whole number" if name == "level" else "text",
            many=name in SEVERAL,
            required=name == "track",
        )
        for name, text in parameters.items()
    ]


def _check(page: TablesPage | ComparisonPage) -> None:
    errors: Any = page.form.errors if page.form.is_bound else {"track": ["Name at least one track."]}
    if errors:
        raise serializers.ValidationError(errors)


class PaperTableSerializer(serializers.Serializer[PaperTable]):
    """A table ready to print."""

    name = serializers.CharField()
    title = serializers.CharField()
    caption = serializers.CharField(help_text="What the table has, and what its marks mean.")
    header = serializers.SerializerMethodField(help_text="A heading for each column.")
    rows = serializers.SerializerMethodField(help_text="The cells of each row, as printed.")
    values = serializers.SerializerMethodField(
        help_text="The same cells; numbers with all their digits, and null where there is none."
    )
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

    @extend_schema_field(
        serializers.ListField(child=serializers.ListField(child=serializers.JSONField(allow_null=True)))
    )
    def get_values(self, table: PaperTable) -> list[list[str | float | None]]:
        return exact_rows_of(table)

    def get_tex(self, table: PaperTable) -> str:
        return as_file(table, "tex")

    def get_csv(self, table: PaperTable) -> str:
        return as_file(table, "csv")


class BarsSerializer(serializers.Serializer[dict[str, Any]]):
    """The bars of a test collection, or the parts of them that have one grade."""

    name = serializers.CharField()
    stack = serializers.CharField(help_text="The bar: parts of one bar are stacked, in this order.")
    values = serializers.ListField(
        child=serializers.FloatField(allow_null=True), help_text="In the order of the labels."
    )


class FigureSerializer(serializers.Serializer[Plot]):
    """A figure of groups of stacked bars."""

    name = serializers.CharField()
    title = serializers.CharField()
    across = serializers.CharField(help_text="What the labels are.")
    up = serializers.CharField(help_text="What the values are.")
    labels = serializers.ListField(child=serializers.CharField())
    series = BarsSerializer(many=True)
    tex = serializers.SerializerMethodField(help_text="The figure in LaTeX, for the package pgfplots.")
    svg = serializers.SerializerMethodField(help_text="The figure as a picture.")

    def get_tex(self, plot: Plot) -> str:
        return as_pgfplots(plot)

    def get_svg(self, plot: Plot) -> str:
        return as_svg(plot)


MissingSerializer = answer(
    Missing, "Missing", "track=track.slug reason", "The parts of a track that are missing from the tables."
)
ComparisonSerializer = answer(
    ComparisonPage,
    "Comparison",
    "tables figure missing",
    "Test collections side by side. A table is missing if no track has what it needs.",
    tables=PaperTableSerializer(many=True),
    figure=FigureSerializer(source="plot", allow_null=True, help_text="Relevant units by class of topics."),
)


class Papers(Endpoints):
    tag = "Leaderboards"
    permission_classes = [Organizer]

    @get(
        "tracks/<slug:slug>/tables/",
        "paper_tables",
        PaperTableSerializer(many=True),
        parameters=_described(OF_TABLES),
    )
    def list_paper_tables(self, request: Request, slug: str) -> object:
        """Read the tables of an overview paper: runs, participants, topics by category, results."""
        user = person_of(request)
        track = track_of(request, slug)
        page = pages.tables_page(user, track, request.query_params)
        _check(page)
        rows: Any = page.tables
        return rows

    @get(
        "comparison/",
        "compare_collections",
        ComparisonSerializer,
        parameters=_described(OF_COMPARISON),
        who=[WithRole],
    )
    def get_comparison(self, request: Request) -> object:
        """Compare test collections: sizes, judging, judged and relevant units, and rankings of the same runs.

        Rankings are by class of topics, by instances and distinct formulas, and by group of assessors. Each track
        counts with its newest leaderboard.
        """
        page = pages.comparison_page(person_of(request), request.query_params)
        _check(page)
        return page


urlpatterns = Papers.urls()
