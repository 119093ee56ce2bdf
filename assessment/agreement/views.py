"""The pages of agreement. Organizers only."""

from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_required
from assessment.agreement import exports, selectors
from assessment.agreement.forms import DifferenceForm
from assessment.agreement.rules import Difference
from assessment.judgments.rules import binary_from
from assessment.machines.comparison import comparisons
from tracks.tracks.selectors import tracks_for
from web.downloads import download
from web.pages import context_of


@require_safe
@never_cache
@organizer_required
def agreement(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Kappa and alpha in one round of a track. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    page = selectors.agreement_page(track, selectors.round_of(track, request.GET.get("round")))
    return render(request, "assessment/agreement/agreement.html", context_of(page))


@require_safe
@never_cache
@organizer_required
def agreement_file(request: AuthenticatedRequest, slug: str, name: str) -> HttpResponseBase:
    """A table of the agreement page as TSV. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if name not in (*exports.TABLES, "machines"):
        raise Http404
    if name == "machines":
        return download(exports.machines_tsv(comparisons(track)), f"{track.slug}-agreement-machines.tsv")
    graded = selectors.graded(track, selectors.round_of(track, request.GET.get("round")))
    content = exports.tsv(graded, binary_from(track.protocol), name)
    return download(content, f"{track.slug}-agreement-{name}.tsv")


@require_safe
@never_cache
@organizer_required
def disagreements(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The units on which assessors disagree, with their comments. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = _form(request)
    page = selectors.disagreements_page(
        track,
        selectors.round_of(track, request.GET.get("round")),
        form.difference if form.is_valid() else Difference(),
        number=request.GET.get("page"),
    )
    status = 200 if form.is_valid() else 400
    context = context_of(page) | {"form": form}
    return render(request, "assessment/agreement/disagreements.html", context, status=status)


@require_safe
@never_cache
@organizer_required
def disagreements_file(request: AuthenticatedRequest, slug: str) -> HttpResponseBase:
    """The disagreements of the page as CSV, with every judgment and comment. Organizers only.

    The page itself says what is wrong with a filter that is not valid.
    """
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = _form(request)
    if not form.is_valid():
        return disagreements(request, slug)
    of_round = selectors.round_of(track, request.GET.get("round"))
    units = selectors.with_comments(selectors.disagreements(track, of_round, form.difference))
    return download(exports.disagreements_csv(units), f"{track.slug}-disagreements.csv")


def _form(request: AuthenticatedRequest) -> DifferenceForm:
    """The filter; without a rule in the address, every difference."""
    return DifferenceForm(request.GET if "rule" in request.GET else Difference()._asdict())
