"""Pages and files of qrels."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts import access
from accounts.access import (
    AuthenticatedRequest,
    organizer_action,
    organizer_form,
    organizer_page,
    public_page,
)
from accounts.visitors import file_of
from assay.formats.qrels.exports import SplitError, sealed, zipped
from scoring.models import Qrels
from scoring.qrels import exports, selectors, services
from scoring.qrels.examples import material_page
from scoring.qrels.forms import ExportForm, FreezeForm, ImportForm, SupersedeForm
from tracks.assessors.selectors import is_assessor
from tracks.deadlines.timeline import timeline
from tracks.tracks.selectors import track_or_404, tracks_organized_by
from web.api.conditional import unless_known
from web.confirmation import Confirmation, confirmation_page
from web.downloads import download, for_visitors
from web.forms import refusals_in
from web.pages import context_of, counted
from web.translation import translated_for_assessors


@translated_for_assessors
@public_page
def qrels_list(request: HttpRequest, slug: str) -> HttpResponse:
    """Versions of a track's qrels. Organizers see all; others those of a leaderboard that they may see."""
    track = track_or_404(request.user, slug)
    versions, is_organizer = selectors.qrels_of(request.user, track), access.oversees(request.user, track.pk)
    context = {
        "track": track,
        "versions": versions,
        "archived": selectors.archived_qrels_of(request.user, track),
        "is_organizer": is_organizer,
        "dates": [] if versions or is_organizer else timeline(track, timezone.now()),
    }
    return render(request, "scoring/qrels/qrels_list.html", context)


@organizer_form
def freeze(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Show what the judgments of a pool become; then freeze them into a version. Organizers only."""
    track = track_or_404(request.user, slug)
    form = FreezeForm(request.POST or request.GET, track=track)
    digest = "" if "without" in request.POST else request.POST.get("digest", "")
    with refusals_in(form):
        if digest and form.is_valid():
            version = services.freeze_judgments(by=request.user, digest=digest, **form.chosen)
            return _to_version(request, version, done="frozen", is_scored="score" in request.POST)
    page = selectors.freeze_page(track, form.previewed)
    context = context_of(page) | {"form": form, "buttons": page.buttons, "n_remarks": page.n_remarks}
    return render(request, "scoring/qrels/freeze.html", context)


@organizer_form
def import_qrels(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Import a qrels file as a version. Organizers only."""
    track = track_or_404(request.user, slug)
    form = ImportForm(request.POST or None, request.FILES or None, track=track)
    with refusals_in(form):
        if form.is_valid():
            version = services.import_file(track=track, by=request.user, **form.contents)
            return _to_version(request, version, done="imported")
    return render(request, "scoring/qrels/import.html", {"track": track, "form": form})


def _to_version(
    request: AuthenticatedRequest, version: Qrels, *, done: str, is_scored: bool = False
) -> HttpResponse:
    """Redirect to a new version, or to its leaderboard if scoring was asked for, and say what was `done`.

    If the track has a leaderboard, scoring against the version starts in any case.
    """
    board = services.rescore(qrels=version, by=request.user, is_asked=is_scored)
    n_units, n_topics = counted(version.n_judged, "unit"), counted(version.n_topics, "topic")
    text = f"The qrels are {done} as {version}: {n_units} of {n_topics}."
    if is_scored and not board:
        messages.warning(request, f"{text} The runs cannot be scored.")
        return redirect(version)
    if board:
        text = f"{text} The runs are being scored against them."
    if board and not is_scored:
        text = f"{text} Older leaderboards stay unchanged."
    messages.success(request, text)
    return redirect(board if board and is_scored else version)


@public_page
def qrels(request: HttpRequest, qrels_id: int) -> HttpResponse:
    """One version: its grades by topic, and how it was made. Organizers; others who may see a leaderboard of it."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    page = selectors.qrels_page(request.user, version)
    return render(request, "scoring/qrels/qrels.html", context_of(page) | {"per_topic": page.per_topic})


@require_safe
def qrels_file(request: HttpRequest, qrels_id: int) -> HttpResponseBase:
    """A version as TSV, always the same bytes. Everyone who may see its page."""
    version = selectors.qrels_or_404(request.user, qrels_id)

    def send() -> HttpResponseBase:
        content = file_of(version.sha256, lambda: selectors.qrels_tsv(version))
        return download(content, f"{exports.file_stem(version)}.tsv")

    return for_visitors(request, unless_known(request, version.sha256, send))


@require_safe
def complete_topics(request: HttpRequest, qrels_id: int) -> HttpResponseBase:
    """A zip of the topics with the parts that participants did not see. Everyone who may see the qrels."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    package = zipped(sealed(dict(exports.complete_topics(version.track))), f"{version.track.slug}-topics")
    return for_visitors(request, download(package, f"{version.track.slug}-topics-complete.zip"))


@public_page
def export(request: HttpRequest, qrels_id: int) -> HttpResponseBase:
    """A version in another format, optionally split by topic. Everyone who may see its page."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    form = ExportForm(request.GET if "to" in request.GET else None, qrels=version)
    if form.is_valid():
        try:
            package = exports.qrels_package(version, **form.cleaned_data)
            return download(package, f"{exports.file_stem(version)}.zip")
        except SplitError as error:
            form.add_error("test_share", f"{error}.")
    context = {"track": version.track, "qrels": version, "form": form}
    return render(request, "scoring/qrels/export.html", context)


@organizer_page
def judgments(request: AuthenticatedRequest, qrels_id: int) -> HttpResponseBase:
    """The judgments of a version's track, without names of assessors. Organizers only."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    return download(*exports.noted_package(version))


@organizer_form
def supersede(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Ask which version a version corrects, and why. Organizers only."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    form = SupersedeForm(request.POST or None, qrels=version)
    page = Confirmation(
        act=f"Correct an earlier version by {version}",
        button="State the correction",
        back=version.get_absolute_url(),
        text="Both versions stay, with their leaderboards and files.",
        fixed=["Each version names the other with the reason, on its page and leaderboards and in its files"],
        changeable=["Who sees the leaderboard of this version"],
        notified="Nobody. Everybody who sees one of the versions reads it; announce it to the teams.",
    )
    with refusals_in(form):
        if page.is_given(request) and form.is_valid():
            services.supersede(new=version, by=request.user, **form.cleaned_data)
            messages.success(request, f"Qrels {version} correct {form.cleaned_data['old']}.")
            return redirect(version)
    return confirmation_page(request, page, layout="scoring/qrels/base.html", track=version.track, form=form)


@organizer_action
def archive(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Hide a version from lists, or show it again. Organizers only."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    service = services.restore if version.archived_at else services.archive
    version = service(qrels=version, by=request.user)
    messages.success(
        request, f"Qrels {version} are {'archived' if version.archived_at else 'in the lists again'}."
    )
    return redirect("scoring:qrels_list", version.track.slug)


@organizer_action
def offer(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Offer a version in the downloads of another track, not released yet. Organizers only."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    track = get_object_or_404(tracks_organized_by(request.user), slug=request.POST.get("track", ""))
    row = services.offer(qrels=version, track=track, by=request.user)
    messages.success(request, f"{row.name} is attached to {track}. Release it when participants may have it.")
    return redirect("tracks:edit_download", track.slug, row.pk)


@translated_for_assessors
@require_safe
@never_cache
@access.login_required
def judged_examples(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Topics of earlier tracks, with documents of each grade. Assessors of the track, and organizers."""
    track = track_or_404(request.user, slug)
    if not (request.user.oversees(track.pk) or is_assessor(request.user, track)):
        raise Http404
    chosen = request.GET.get("qrels", ""), request.GET.get("topic", "")
    page = material_page(request.user, track, *chosen)
    return render(request, "scoring/qrels/judged_examples.html", context_of(page))


@organizer_action
def train(request: AuthenticatedRequest, qrels_id: int) -> HttpResponse:
    """Show examples of a version to the assessors of another track, or no longer. Organizers only."""
    version = selectors.qrels_or_404(request.user, qrels_id)
    track = get_object_or_404(tracks_organized_by(request.user), slug=request.POST.get("track", ""))
    is_shown = request.POST.get("action") != "hide"
    services.set_training(qrels=version, track=track, is_shown=is_shown, by=request.user)
    verb = "now see" if is_shown else "no longer see"
    messages.success(request, f"The assessors of {track} {verb} examples of {version.track}.")
    return redirect("scoring:judged_examples", track.slug)
