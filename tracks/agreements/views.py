"""The pages of data agreements: to read, to accept, and for organizers to write."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import AuthenticatedRequest, login_required, organizer_form
from assay.errors import Refused
from tracks.agreements import selectors, services
from tracks.guidelines.forms import MarkdownForm
from tracks.markdown import plain_html
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.pages import context_of, local_address

AGREEMENT = "tracks/agreements/agreement.html"


def _track(request: HttpRequest, slug: str) -> Track:
    return get_object_or_404(tracks_for(request.user).select_related("agreement"), slug=slug)


@require_safe
@never_cache
def agreement(request: HttpRequest, slug: str) -> HttpResponse:
    """The data agreement in force. Everyone who sees the track."""
    track = _track(request, slug)
    next_page = local_address(request, request.GET.get("next", ""))
    page = selectors.agreement_page(track, request.user, track.agreement, next_page)
    return render(request, AGREEMENT, context_of(page))


@require_safe
def version(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """One published version. Everyone who sees the track."""
    track = _track(request, slug)
    version = get_object_or_404(selectors.versions_of(track), number=number)
    return render(request, AGREEMENT, context_of(selectors.agreement_page(track, request.user, version)))


@require_POST
@login_required
def accept(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Accept the version that the page showed. Everyone who has logged in."""
    track = _track(request, slug)
    shown = request.POST.get("revision", "")
    services.accept(
        track=track, user=request.user, revision=int(shown) if shown.isdecimal() and len(shown) < 10 else -1
    )
    messages.success(request, f"You accepted the data agreement of {track}.")
    return redirect(local_address(request, request.POST.get("next", "")) or track.get_absolute_url())


@organizer_form
def edit(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write the next version: preview, publish or withdraw it. Organizers only."""
    track = _track(request, slug)
    if request.method != "POST":
        in_force = track.agreement
        initial = {"text": in_force.text, "revision": in_force.number} if in_force else {"revision": 0}
        return _editor(request, track, MarkdownForm(initial=initial))
    form = MarkdownForm(request.POST)
    if not form.is_valid():
        return _editor(request, track, form, status=422)
    if request.POST.get("action") not in {"publish", "withdraw"}:
        return _editor(request, track, form)
    try:
        if request.POST["action"] == "withdraw":
            services.withdraw(track=track, revision=form.cleaned_data["revision"])
            done = "The agreement is withdrawn. Nobody is asked to accept it any more."
        else:
            number = services.publish(track=track, by=request.user, **form.cleaned_data).number
            done = (
                f"Version {number} is in force. Participants accept it before they get data or submit runs."
            )
        messages.success(request, done)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        return _editor(request, track, form, status=409)
    return redirect("tracks:agreement", track.slug)


def _editor(
    request: AuthenticatedRequest, track: Track, form: MarkdownForm, *, status: int = 200
) -> HttpResponse:
    """The editor with the rendered text of the form."""
    html = mark_safe(plain_html(str(form["text"].value() or "")))  # noqa: S308  sanitized
    context = {"track": track, "form": form, "html": html, "tab": "agreement"}
    return render(request, "tracks/agreements/edit.html", context, status=status)
