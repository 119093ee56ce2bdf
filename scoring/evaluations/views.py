"""Pages of the evaluation of a run."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from assay.evaluation.scores import as_csv, as_tsv
from scoring.evaluations import selectors
from scoring.leaderboards.views import _number
from scoring.qrels import selectors as qrels_selectors
from web.downloads import download


@require_GET
@never_cache
def evaluation(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    """One run, topic by topic. Organizers; its team once released to participants; everybody once public."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    context = selectors.evaluation_page(request.user, found, request.GET.get("measure", ""))
    return render(request, "scoring/evaluations/evaluation.html", context)


@require_GET
@never_cache
def evaluation_file(request: HttpRequest, evaluation_id: int, kind: str) -> HttpResponseBase:
    """The values of a run as TSV, or as CSV for spreadsheets. Whoever sees its page."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    header, rows = qrels_selectors.topic_table(selectors.evaluations_for(request.user).filter(pk=found.pk))
    written = as_csv(header, rows) if kind == "csv" else as_tsv(header, rows)
    return download(written, f"{found.leaderboard.track.slug}-evaluation-{found.pk}.{kind}")


@require_GET
def choose_other(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    """Where the form of a run's page leads: to the page of the two. Whoever may open the run's page."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    other = _number(request.GET.get("other", ""))
    return redirect(found) if other is None else redirect("scoring:compare_runs", found.pk, other)


@require_GET
@never_cache
def compare(request: HttpRequest, evaluation_id: int, other_id: int) -> HttpResponse:
    """Two runs of a leaderboard against each other. Whoever may open both."""
    found = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    context = selectors.compare_page(request.user, found, other_id, request.GET.get("measure", ""))
    return render(request, "scoring/evaluations/compare.html", context)
