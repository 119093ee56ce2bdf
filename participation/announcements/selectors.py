"""Announcements, who sees them, and the e-mails that were sent."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, Q, QuerySet
from django.utils.safestring import SafeString, mark_safe

from accounts.access import AnyUser, oversees
from accounts.models import IS_PERSON, User
from participation.models import Announcement, AnnouncementMail, Membership
from tracks.models import Assessor, Organizer, Track
from tracks.tracks.selectors import tracks_for
from web.statements import Prepared

SHOWN = 3  # on the page of the track
Audience = Announcement.Audience


def announcements_for(user: AnyUser, track: Track) -> QuerySet[Announcement]:
    """The announcements of a track that are for a user, newest first; who oversees the track sees withdrawn ones, too.

    The groups of the user are part of the one query.
    """
    every = Announcement.objects.filter(track=track) if oversees(user, track.pk) else _seen_by(user.pk, track)
    return every.select_related("track", "published_by")


def _seen_by(user: Any, track: Any) -> QuerySet[Announcement]:
    """Announcements for somebody who does not oversee the track; the id of a visitor is None."""
    is_member = Exists(Membership.objects.filter(team__track=track, user=user, user__is_active=True))
    is_assessor = Exists(Assessor.objects.filter(track=track, user=user, user__is_active=True, ended_at=None))
    return Announcement.objects.filter(
        Q(audiences__contains=[Audience.EVERYONE])
        | Q(is_member, audiences__contains=[Audience.TEAMS])
        | Q(is_assessor, audiences__contains=[Audience.ASSESSORS]),
        track=track,
        withdrawn_at=None,
    )


def announcements_organized_by(user: User) -> QuerySet[Announcement]:
    """The announcements that a user may edit."""
    return Announcement.objects.filter(track__in=user.organized).select_related("track", "published_by")


def announcements_seen_by(user: AnyUser) -> QuerySet[Announcement]:
    """The announcements of all tracks whose page a user may open; `announcements_for` says which they see of one."""
    return Announcement.objects.filter(track__in=tracks_for(user)).select_related("track")


def recipients(track: Track, audiences: Collection[str]) -> QuerySet[User]:
    """The people of some groups who have an address and want e-mails about announcements. No guests, no programs."""
    is_for_all = Audience.EVERYONE in audiences
    in_groups = Q(pk__in=[])
    if is_for_all or Audience.TEAMS in audiences:
        in_groups |= Q(pk__in=Membership.objects.filter(team__track=track).values("user"))
    if is_for_all or Audience.ASSESSORS in audiences:
        in_groups |= Q(pk__in=Assessor.objects.filter(track=track, ended_at=None).values("user"))
    if is_for_all:
        in_groups |= Q(pk__in=Organizer.objects.filter(track=track).values("user"))
    wanting = User.objects.filter(in_groups, **IS_PERSON, is_active=True, is_mailed_about_announcements=True)
    return wanting.exclude(email="").order_by("pk")


@dataclass(frozen=True)
class Listed:
    """An announcement. The numbers of e-mails are for people who oversee the track."""

    announcement: Announcement
    html: SafeString
    n_mails: int = 0
    n_sent: int = 0
    n_waiting: int = 0

    @property
    def n_failed(self) -> int:
        return self.n_mails - self.n_sent - self.n_waiting


def _listed(announcement: Announcement) -> Listed:
    html = mark_safe(announcement.html)  # noqa: S308  sanitized before it was stored
    numbers = (getattr(announcement, name, 0) for name in ("n_mails", "n_sent", "n_waiting"))
    return Listed(announcement, html, *numbers)


@dataclass(frozen=True)
class AnnouncementsPage:
    """The announcements of a track, newest first. `is_sending` while e-mails wait to be sent."""

    track: Track
    announcements: list[Listed]
    is_sending: bool
    sends_mail: bool


def announcements_page(user: AnyUser, track: Track) -> AnnouncementsPage:
    """In one query."""
    announcements = announcements_for(user, track)
    if oversees(user, track.pk):
        is_waiting, is_old = Q(mails__letter__due_at__isnull=False), Q(mails__letter=None)
        announcements = announcements.annotate(
            n_mails=Count("mails"),
            n_sent=Count("mails", Q(mails__letter__sent_at__isnull=False) | is_old),
            n_waiting=Count("mails", is_waiting),
        ).order_by("-published_at", "-pk")  # a query that groups has no default order
    listed = [_listed(announcement) for announcement in announcements]
    is_sending = any(announcement.n_waiting for announcement in listed)
    return AnnouncementsPage(track, listed, is_sending, settings.SENDS_MAIL)


_LATEST = Prepared(lambda user, track: _seen_by(user, track).select_related("track", "published_by")[:SHOWN])


def latest(user: AnyUser, track: Track) -> list[Listed]:
    """The newest announcements for a user that are not withdrawn. One query."""
    if oversees(user, track.pk):
        return [_listed(each) for each in announcements_for(user, track).filter(withdrawn_at=None)[:SHOWN]]
    return [_listed(announcement) for announcement in _LATEST(user=user.pk, track=track.pk)]


def mails_of(announcement: Announcement) -> QuerySet[AnnouncementMail]:
    """The e-mails of an announcement, each with its person and its state."""
    return announcement.mails.select_related("user", "letter").order_by("user__username")
