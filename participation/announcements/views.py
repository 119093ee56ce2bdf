"""The pages of announcements: to read, and for organizers to write."""

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import capfirst, get_text_list
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, organizer_action, organizer_form, organizer_page
from participation.announcements import selectors, services
from participation.models import Announcement
from tracks.deadline_acceptance import next_closing
from tracks.editor import PREVIEW, Button, Done, MarkdownField, MarkdownForm, editor
from tracks.models import Download, Track
from tracks.tracks.selectors import track_or_404
from web.pages import context_of, site_of
from web.times import in_words
from web.translation import translated_for_assessors


@translated_for_assessors
@require_safe
def announcements(request: HttpRequest, slug: str) -> HttpResponse:
    """The announcements for the reader, newest first. Everyone who sees the track."""
    track = track_or_404(request.user, slug)
    page = selectors.announcements_page(request.user, track)
    return render(request, "participation/announcements/announcements.html", context_of(page))


class AnnouncementForm(MarkdownForm):
    title = forms.CharField(max_length=200)
    text = MarkdownField(rows=9)
    audiences = forms.MultipleChoiceField(
        choices=Announcement.Audience.choices,
        widget=forms.CheckboxSelectMultiple,
        label="For",
        help_text="They see it on the page of the track. Organizers and chairs see all of them.",
    )
    is_mailed = forms.BooleanField(
        required=False,
        label="Send it by e-mail",
        help_text="Once to each of these people, unless they switched it off or have no address.",
    )


@organizer_form
def new_announcement(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """Write an announcement: preview or publish it. Organizers only."""
    track = track_or_404(request.user, slug)
    initial = {"revision": 0, "audiences": ["everyone"], "is_mailed": settings.SENDS_MAIL}
    if begin := BEGINNINGS.get(request.GET.get("about", "")):
        initial |= begin(track, site_of(request))
    if request.GET.get("audiences") in Announcement.Audience.values:
        initial["audiences"] = [request.GET["audiences"]]
    initial |= {name: request.GET[name] for name in ("title", "text") if name in request.GET}
    return _editor(request, track, None, initial)


def _opening(track: Track, site: str) -> dict[str, str]:
    """The title and the text with which the announcement of the opening begins."""
    closing = next_closing(track)
    until = f" until {in_words(closing.closes_at, closing.zone)}" if closing and closing.closes_at else ""
    offered = {
        "topics": track.topics.exists(),
        "documents": track.downloads.filter(
            kind=Download.Kind.COLLECTION, released_at__isnull=False
        ).exists(),
        "guidelines": track.guidelines is not None,
    }
    names = [f"the {name}" for name, is_there in offered.items() if is_there] or ["the task"]
    content = capfirst(get_text_list(names, "and"))
    page = f"{site}{track.get_absolute_url()}"
    text = f"{track} is open: teams can submit runs{until}.\n\n{content}: <{page}>"
    return {"title": f"{track} is open for runs", "text": text}


def _closing(track: Track, site: str) -> dict[str, str]:
    page = f"{site}{track.get_absolute_url()}"
    text = f"{track} is closed: teams can no longer submit runs.\n\nThe results will be here: <{page}>"
    return {"title": f"{track} is closed for runs", "text": text}


def _results(track: Track, site: str) -> dict[str, str]:
    page = f"{site}{reverse('scoring:leaderboards', args=[track.slug])}"
    text = f"The leaderboard and the qrels of {track} are released.\n\nThe results: <{page}>"
    return {"title": f"The results of {track}", "text": text}


BEGINNINGS = {"opening": _opening, "closing": _closing, "results": _results}


@organizer_form
def edit_announcement(request: AuthenticatedRequest, announcement_id: int) -> HttpResponse:
    """Edit an announcement, and perhaps send it again. Organizers only."""
    editable = selectors.announcements_organized_by(request.user).filter(withdrawn_at=None)
    announcement = get_object_or_404(editable, pk=announcement_id)
    initial = {name: getattr(announcement, name) for name in ("title", "text", "audiences", "revision")}
    return _editor(request, announcement.track, announcement, initial)


def _editor(
    request: AuthenticatedRequest, track: Track, announcement: Announcement | None, initial: dict[str, Any]
) -> HttpResponse:
    address = reverse("participation:announcements", args=[track.slug])

    def publish(*, revision: int, **values: Any) -> Done:
        values["site"] = site_of(request)
        if announcement is None:
            services.publish(track=track, by=request.user, **values)
        else:
            services.edit(announcement=announcement, revision=revision, **values)
        return Done("The announcement is published.", address)

    page = {
        "track": track,
        "heading": f"{'Edit' if announcement else 'Write'} an announcement",
        "crumbs": [("Announcements", address)],
        "announcement": announcement,
        "sends_mail": settings.SENDS_MAIL,
    }
    buttons = [
        Button("publish", f"{'Save' if announcement else 'Publish'} the announcement", publish),
        PREVIEW,
    ]
    form = AnnouncementForm(initial=initial)
    return editor(request, form, buttons, page, template="participation/announcements/edit.html")


@organizer_page
def announcement_mails(request: AuthenticatedRequest, announcement_id: int) -> HttpResponse:
    """The people who got an announcement by e-mail. Organizers and chairs."""
    announcement = get_object_or_404(selectors.announcements_seen_by(request.user), pk=announcement_id)
    context = {
        "track": announcement.track,
        "announcement": announcement,
        "mails": selectors.mails_of(announcement),
    }
    return render(request, "participation/announcements/mails.html", context)


@organizer_action
def withdraw_announcement(request: AuthenticatedRequest, announcement_id: int) -> HttpResponse:
    """Withdraw an announcement. Organizers only."""
    announcement = get_object_or_404(selectors.announcements_organized_by(request.user), pk=announcement_id)
    services.withdraw(announcement=announcement)
    messages.success(request, "The announcement is withdrawn. Its readers do not see it any more.")
    return redirect(announcement)
