"""Announcements for programs."""

from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of, user_of
from participation.announcements import selectors, services
from participation.models import Announcement, AnnouncementMail
from tracks.tracks import services as track_services
from tracks.tracks.api import track_of
from web.api.answers import answer
from web.api.conditional import require_match
from web.api.permissions import Everyone, Organizer
from web.api.serializers import Address, Strict
from web.api.views import Endpoints, get, patch, post
from web.pages import site_of

READERS = "Who sees it: members of teams, assessors, or everyone who sees the track."


AnnouncementSerializer = answer(
    Announcement,
    "Announcement",
    "id url track=track.slug title text html audiences published_at edited_at withdrawn_at",
    "A short text of the organizers to people of a track.",
    url=Address("api:announcement", help_text="The address of this announcement in the API."),
    text="Markdown.",
    html="The text, sanitized.",
    audiences=serializers.ListField(
        child=serializers.ChoiceField(Announcement.Audience.choices), help_text=READERS
    ),
    withdrawn_at="Only who oversees the track sees withdrawn ones.",
)


class AnnouncementChangeSerializer(Strict):
    """The fields of an announcement that change. A field that is left out stays."""

    title = serializers.CharField(max_length=200, required=False)
    text = serializers.CharField(
        max_length=services.MOST_CHARACTERS, trim_whitespace=False, required=False, help_text="Markdown."
    )
    audiences = serializers.ListField(
        child=serializers.ChoiceField(Announcement.Audience.choices),
        min_length=1,
        max_length=len(Announcement.Audience),
        required=False,
        help_text=READERS,
    )
    is_mailed = serializers.BooleanField(
        default=False, help_text="Send it by e-mail, once to each who wants that; of a change: once more."
    )


class NewAnnouncementSerializer(AnnouncementChangeSerializer):
    """A new announcement."""

    title = serializers.CharField(max_length=200)
    text = serializers.CharField(
        max_length=services.MOST_CHARACTERS, trim_whitespace=False, help_text="Markdown."
    )
    audiences = serializers.ListField(
        child=serializers.ChoiceField(Announcement.Audience.choices),
        min_length=1,
        max_length=len(Announcement.Audience),
        help_text=READERS,
    )


AnnouncementMailSerializer = answer(
    AnnouncementMail,
    "AnnouncementMail",
    "username=user.username status=state sent_at=letter.sent_at",
    "An e-mail of an announcement.",
    status="In words, such as `sent`, `waiting` or `given up`.",
)


def _organized(request: Request, announcement_id: int) -> Announcement:
    return get_object_or_404(selectors.announcements_organized_by(person_of(request)), pk=announcement_id)


ANNOUNCEMENTS = ("tracks/<slug:slug>/announcements/", "announcements", AnnouncementSerializer)


class Announcements(Endpoints):
    tag = "Tracks"
    permission_classes = [Organizer]

    @get(*ANNOUNCEMENTS, ordering=("-published_at", "-pk"), who=[Everyone])
    def list_announcements(self, request: Request, slug: str) -> object:
        """List the announcements of a track that are for you, newest first."""
        return selectors.announcements_for(user_of(request), track_of(request, slug))

    @post(*ANNOUNCEMENTS, takes=NewAnnouncementSerializer, status=201)
    def create_announcement(self, request: Request, slug: str) -> object:
        """Show an announcement to groups of a track, and perhaps send it by e-mail."""
        data, site = self.validated(request), site_of(request._request)
        return services.publish(track=track_of(request, slug), by=person_of(request), site=site, **data)

    @get("announcements/<int:announcement_id>/", "announcement", AnnouncementSerializer, who=[Everyone])
    def get_announcement(self, request: Request, announcement_id: int) -> object:
        """Read an announcement."""
        user = user_of(request)
        track = get_object_or_404(selectors.announcements_seen_by(user), pk=announcement_id).track
        return get_object_or_404(selectors.announcements_for(user, track), pk=announcement_id)

    @patch(
        "announcements/<int:announcement_id>/",
        "announcement",
        AnnouncementSerializer,
        takes=AnnouncementChangeSerializer,
    )
    @transaction.atomic
    def update_announcement(self, request: Request, announcement_id: int) -> object:
        """Change an announcement. It is only sent again if you ask for that."""
        track_services.lock(_organized(request, announcement_id).track_id)
        announcement = _organized(request, announcement_id)
        require_match(request, AnnouncementSerializer(announcement).data)
        kept = {name: getattr(announcement, name) for name in ("title", "text", "audiences", "revision")}
        values: dict[str, Any] = kept | self.validated(request)
        return services.edit(announcement=announcement, site=site_of(request._request), **values)

    @post("announcements/<int:announcement_id>/withdraw/", "withdraw_announcement", AnnouncementSerializer)
    def withdraw_announcement(self, request: Request, announcement_id: int) -> object:
        """Show an announcement to nobody any more. E-mails that wait are not sent."""
        return services.withdraw(announcement=_organized(request, announcement_id))

    @get(
        "announcements/<int:announcement_id>/mails/",
        "announcement_mails",
        AnnouncementMailSerializer,
        ordering=("pk",),
    )
    def list_announcement_mails(self, request: Request, announcement_id: int) -> object:
        """List the e-mails of an announcement, each with its person and its state."""
        announcement = get_object_or_404(
            selectors.announcements_seen_by(person_of(request)), pk=announcement_id
        )
        return selectors.mails_of(announcement)


urlpatterns = Announcements.urls()
