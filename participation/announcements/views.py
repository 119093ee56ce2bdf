"""The pages of announcements: to read, and for organizers to write."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.safestring import mark_safe
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_page
from assay.errors import Refused
from participation.announcements import selectors, services
from participation.announcements.forms import AnnouncementForm
from participation.models import Announcement
from tracks.markdown import plain_html
from tracks.models import Track
from tracks.tracks.selectors import tracks_for
from web.pages import context_of, site_of


@require_safe
def announcements(request: HttpRequest, slug: str) -> HttpResponse:
    """The announcements for the reader, newest first. Everyone who sees the track."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    page = selectors.announcements_page(request.user, track)
    return render(request, "participation/announcements/announcements.html", context_of(page))


@organizer_form
def new_announcement(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write an announcement: preview or publish it. Organizers only."""
    track = get_object_or_404(tracks_for(request.user), slug=slug)
    if request.method != "POST":
        initial = {"revision": 0, "audiences": ["everyone"], "is_mailed": settings.SENDS_MAIL}
        return _editor(request, track, AnnouncementForm(initial=initial))
    return _saved(request, track, None)


@organizer_form
def edit_announcement(request: AuthenticatedRequest, announcement_id: int) -> HttpResponse:
    """Edit an announcement, and perhaps send it again. Organizers only."""
    editable = selectors.announcements_organized_by(request.user).filter(withdrawn_at=None)
    announcement = get_object_or_404(editable, pk=announcement_id)
    if request.method != "POST":
        names = ("title", "text", "audiences", "revision")
        initial = {name: getattr(announcement, name) for name in names}
        return _editor(request, announcement.track, AnnouncementForm(initial=initial), announcement)
    return _saved(request, announcement.track, announcement)


def _saved(request: AuthenticatedRequest, track: Track, announcement: Announcement | None) -> HttpResponse:
    """Store what the form says, and go to the list; or the form again."""
    form = AnnouncementForm(request.POST)
    if not form.is_valid() or request.POST.get("action") != "publish":
        return _editor(request, track, form, announcement, status=200 if form.is_valid() else 422)
    values = {**form.cleaned_data, "site": site_of(request)}
    try:
        if announcement is None:
            del values["revision"]
            services.publish(track=track, by=request.user, **values)
        else:
            services.edit(announcement=announcement, **values)
    except Refused as refusal:
        form.add_error(None, refusal.message)
        if isinstance(refusal, services.AnnouncementChanged):
            form.data = request.POST.copy()
            form.data["revision"] = str(refusal.announcement.revision)
        return _editor(request, track, form, announcement, status=409)
    messages.success(request, "The announcement is published.")
    return redirect("participation:announcements", track.slug)


def _editor(
    request: AuthenticatedRequest,
    track: Track,
    form: AnnouncementForm,
    announcement: Announcement | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """The editor with the rendered text of the form."""
    html = mark_safe(plain_html(str(form["text"].value() or "")))  # noqa: S308  sanitized
    context = {"track": track, "form": form, "html": html, "announcement": announcement, "tab": "track"}
    context["sends_mail"] = settings.SENDS_MAIL
    return render(request, "participation/announcements/edit.html", context, status=status)


@organizer_page
def announcement_mails(request: AuthenticatedRequest, announcement_id: int) -> HttpResponse:
    """The people who got an announcement by e-mail. Organizers and chairs."""
    announcement = get_object_or_404(selectors.announcements_seen_by(request.user), pk=announcement_id)
    context = {"track": announcement.track, "announcement": announcement, "tab": "track"}
    context["mails"] = selectors.mails_of(announcement)
    return render(request, "participation/announcements/mails.html", context)


@organizer_action
def withdraw_announcement(request: AuthenticatedRequest, announcement_id: int) -> HttpResponse:
    """Withdraw an announcement. Organizers only."""
    announcement = get_object_or_404(selectors.announcements_organized_by(request.user), pk=announcement_id)
    services.withdraw(announcement=announcement)
    messages.success(request, "The announcement is withdrawn. Its readers do not see it any more.")
    return redirect(announcement)
