"""Analyses of leaderboards for programs."""

from django.http import Http404
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import person_of
from assay_extensions.analyses.site import report_pages, services
from scoring import stored_analyses
from scoring.models import Analysis
from scoring.selectors import board_or_404
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import Organizer
from web.api.serializers import Address, JobAddress, Strict
from web.api.views import Endpoints, accepted, get, get_file, parameter, post
from web.downloads import download

ANALYSIS = "id url leaderboard=leaderboard_id kind seed job created_at"
OF_ANALYSIS = {
    "url": Address("api:analysis", help_text="The address of this analysis in the API."),
    "kind": serializers.ChoiceField(Analysis.Kind.values),
    "job": JobAddress(help_text="The address of the job that computes it."),
}
AnalysisSerializer = answer(Analysis, "Analysis", ANALYSIS, "An analysis of a leaderboard.", **OF_ANALYSIS)
AnalysisDetailSerializer = answer(
    Analysis,
    "AnalysisDetail",
    f"{ANALYSIS} result",
    "An analysis with its inputs and results.",
    **OF_ANALYSIS,
    result=serializers.DictField(help_text="As the file of its page; empty until it is computed."),
)


class NewAnalysisSerializer(Strict):
    """An analysis to compute."""

    kind = serializers.ChoiceField(Analysis.Kind.values)
    versions = serializers.ListField(
        child=serializers.IntegerField(),
        required=False,
        default=list,
        max_length=100,
        help_text="For `compare`: ids of other versions of the track's qrels.",
    )


ANALYSES = ("leaderboards/<int:board_id>/analyses/", "analyses", AnalysisSerializer)


class Analyses(Endpoints):
    tag = "Leaderboards"
    permission_classes = [Organizer]

    @get(
        *ANALYSES,
        ordering=("-pk",),
        filters=[Filter("kind", values=Analysis.Kind.values)],
        orders=["created_at"],
    )
    def list_analyses(self, request: Request, board_id: int) -> object:
        """List the analyses of a leaderboard, newest first."""
        user = person_of(request)
        board = board_or_404(user, board_id)
        return stored_analyses.analyses_for(user).filter(leaderboard=board)

    @post(*ANALYSES, takes=NewAnalysisSerializer, status=202)
    def create_analysis(self, request: Request, board_id: int) -> object:
        """Compute an analysis of a leaderboard, in a job."""
        user = person_of(request)
        board = board_or_404(user, board_id)
        data = self.validated(request)
        versions = list(stored_analyses.other_versions(board).filter(pk__in=data["versions"]))
        if unknown := set(data["versions"]) - {version.pk for version in versions}:
            raise serializers.ValidationError(
                {"versions": f"{min(unknown)} is no other version of these qrels."}
            )
        analysis = services.request(leaderboard=board, kind=data["kind"], versions=versions, by=user)
        return accepted(AnalysisSerializer(analysis).data, analysis.job_id)

    @get_file(
        "leaderboards/<int:board_id>/reports/<slug:name>/",
        "report",
        "text/tab-separated-values",
        parameters=[parameter("measure", "One of the leaderboard; the first without it.")],
    )
    def download_report(self, request: Request, board_id: int, name: str) -> object:
        """Download a table of the page *Reliability of the numbers* as TSV, such as `units`."""
        board = board_or_404(person_of(request), board_id)
        content = report_pages.report_file(board, name, "tsv", request.query_params.get("measure", ""))
        if content is None:
            raise Http404
        return download(content, f"{board.file_stem}-{name}.tsv")

    @get("analyses/<int:analysis_id>/", "analysis", AnalysisDetailSerializer)
    def get_analysis(self, request: Request, analysis_id: int) -> object:
        """Read an analysis with its results."""
        analysis = get_object_or_404(stored_analyses.analyses_for(person_of(request)), pk=analysis_id)
        result = report_pages.analysis_content(analysis) if analysis.result else {}
        return Response(AnalysisSerializer(analysis).data | {"result": result})


urlpatterns = Analyses.urls()
