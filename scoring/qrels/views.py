"""Pages of qrels."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from accounts import access
from accounts.access import AuthenticatedRequest, organizer_required
from assay.errors import Refused
from scoring.leaderboards import services as leaderboard_services
from scoring.leaderboards.views import READ_AND_POST
from scoring.models import Qrels
from scoring.qrels import selectors, services
from scoring.qrels.forms import FreezeForm, ImportForm
from tracks.tracks.selectors import tracks_for
from web.downloads import download


@require_GET
@never_cache
def qrels_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Versions of a track's qrels. Organizers all; others those under a leaderboard that they may see."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    context = {
        "track": track,
        "versions": selectors.qrels_of(request.user, track),
        "is_organizer": access.is_organizer(request.user),
    }
    return render(request, "scoring/qrels/qrels_list.html", context)


@READ_AND_POST
@never_cache
@organizer_required
def freeze(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Make a version from a pool's judgments. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = FreezeForm(request.POST or None, track=track)
    if form.is_valid():
        pool, name = form.cleaned_data["pool"], form.cleaned_data["name"]
        try:
            made = services.freeze_judgments(pool=pool, by=request.user, name=name, also=form.also)
            return _to_qrels(request, made)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    context = {"track": track, "form": form, "rules": track.protocol.parsed.qrels, "tab": "qrels_list"}
    return render(request, "scoring/qrels/freeze.html", context | {"pools": form.pools})


@READ_AND_POST
@never_cache
@organizer_required
def import_qrels(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Take over an official file as a version of its own. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    form = ImportForm(request.POST or None, request.FILES or None)
    if form.is_valid():
        name, file_name = form.cleaned_data["name"], form.cleaned_data["file"].name or ""
        try:
            made = services.import_file(
                track=track, columns=form.columns, file_name=file_name, by=request.user, name=name
            )
            return _to_qrels(request, made)
        except Refused as refusal:
            form.add_error(None, refusal.message)
    return render(request, "scoring/qrels/import.html", {"track": track, "form": form, "tab": "qrels_list"})


def _to_qrels(request: AuthenticatedRequest, made: Qrels) -> HttpResponse:
    """The page of a new version, whose scoring begins by itself where runs were scored before."""
    if leaderboard_services.rescore(qrels=made, by=request.user):
        messages.info(
            request,
            "The runs are being scored against this version. The leaderboards there are stay as they are.",
        )
    return redirect(made)


@require_GET
@never_cache
def qrels(request: HttpRequest, qrels_id: int) -> HttpResponse:
    """One version: its grades by topic, and how it was made. Organizers; others under a leaderboard they may see."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    return render(request, "scoring/qrels/qrels.html", selectors.qrels_page(request.user, found))


@require_GET
@never_cache
def qrels_file(request: HttpRequest, qrels_id: int) -> HttpResponseBase:
    """A version as a TSV, always the same bytes. Whoever sees its page."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    return download(selectors.qrels_tsv(found), f"qrels.{found.track.slug}.v{found.version}.tsv")


@require_POST
@organizer_required
def score(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Ask for a leaderboard on a version. Organizers only."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    return redirect(leaderboard_services.request(qrels=found, by=request.user))
