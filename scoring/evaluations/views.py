"""Pages of the evaluation of a run."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import public_page
from accounts.visitors import same_for_visitors
from scoring.evaluations import selectors
from web.downloads import spooled
from web.forms import CompareForm
from web.pages import context_of, number_in


@same_for_visitors
@public_page
def show_evaluation(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    """One run by topic. Organizers; its team after the release to participants; everyone after a public release."""
    evaluation = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    page = selectors.evaluation_page(request.user, evaluation, request.GET.get("measure", ""))
    return render(request, "scoring/evaluations/evaluation.html", context_of(page))


@require_safe
def evaluation_file(request: HttpRequest, evaluation_id: int, kind: str) -> HttpResponseBase:
    """The values of a run as TSV or CSV. Everyone who may open the run's page."""
    visible = selectors.evaluations_for(request.user)
    evaluation = get_object_or_404(visible, pk=evaluation_id)
    content = selectors.score_file(
        request.user, evaluation.leaderboard, visible.filter(pk=evaluation.pk), kind
    )
    return spooled(request, content, f"{evaluation.leaderboard.track.slug}-evaluation-{evaluation.pk}.{kind}")


@require_safe
def choose_other(request: HttpRequest, evaluation_id: int) -> HttpResponse:
    """Redirect from the form of a run's page to the comparison. Everyone who may open the run's page."""
    evaluation = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    form = CompareForm(request.GET)
    if not form.is_valid():
        return redirect(evaluation)
    first = number_in(request.GET.get("first", ""), evaluation.pk)  # of the form on a leaderboard
    return redirect("scoring:compare_runs", first, form.cleaned_data["other"])


@same_for_visitors
@public_page
def compare(request: HttpRequest, evaluation_id: int, other_id: int) -> HttpResponse:
    """Two runs of a leaderboard compared. Everyone who may open both."""
    evaluation = get_object_or_404(selectors.evaluations_for(request.user), pk=evaluation_id)
    page = selectors.compare_page(request.user, evaluation, other_id, request.GET.get("measure", ""))
    return render(request, "scoring/evaluations/compare.html", context_of(page))
