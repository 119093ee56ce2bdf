"""Write, edit and withdraw announcements, and send them. Decision: ADR 23."""

from collections.abc import Sequence
from functools import partial

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts.audit import services as audit
from accounts.mail import letters
from accounts.models import User
from assay.errors import Refused
from participation.announcements.selectors import recipients
from participation.models import Announcement, AnnouncementMail
from tracks.markdown import TextChanged, plain_html
from tracks.models import Topic, Track
from tracks.topics.services import on_correction
from tracks.tracks.services import lock
from web.pages import counted

MAIL = "participation.announcement"
MOST_CHARACTERS = 20_000

NOT_CHANGED = "The announcement was not changed"
announcement_refused = partial(Refused, code="announcement-refused", title=NOT_CHANGED)


@transaction.atomic
def publish(
    *, track: Track, title: str, text: str, audiences: Sequence[str], is_mailed: bool, by: User, site: str
) -> Announcement:
    """Show an announcement to its readers, and send it to those who want e-mails.

    `site` is the origin of the site, for the link in the e-mails.

    Raises Refused.
    """
    current = lock(track.pk)
    values = _checked(title, text, audiences)
    announcement = Announcement.objects.create(track=current, published_by=by, **values)
    n_mails = _send(announcement, site) if is_mailed else 0
    _record("published", announcement, n_mails)
    return announcement


@on_correction
def publish_correction(*, topic: Topic, reason: str, by: User) -> None:
    """Announce to everybody that the text of a topic was corrected."""
    text = f"The text of the topic {topic.code} was corrected: {reason}"
    publish(
        track=topic.track,
        title=f"Topic {topic.code} is corrected",
        text=text,
        audiences=["everyone"],
        is_mailed=settings.SENDS_MAIL,
        by=by,
        site=settings.SITE_URL,
    )


@transaction.atomic
def edit(
    *,
    announcement: Announcement,
    revision: int,
    title: str,
    text: str,
    audiences: Sequence[str],
    is_mailed: bool,
    site: str,
) -> Announcement:
    """Change an announcement. It keeps its date. With `is_mailed`, it is sent once more, also to people who have it.

    `revision` is the one that the page showed.

    Raises Refused, TextChanged.
    """
    lock(announcement.track_id)
    current = Announcement.objects.select_related("track").get(pk=announcement.pk)
    if current.withdrawn_at is not None:
        raise announcement_refused("The announcement was withdrawn. Write a new one.")
    if current.revision != revision:
        raise TextChanged(
            "Somebody else changed the announcement after you opened it. Your text is kept on this page. Open the "
            "announcements in another tab to compare; save again to replace the other text.",
            revision=current.revision,
            code="announcement-changed",
            title=NOT_CHANGED,
        )
    for name, value in _checked(title, text, audiences).items():
        setattr(current, name, value)
    current.revision, current.edited_at = revision + 1, timezone.now()
    current.save()
    n_mails = _send(current, site) if is_mailed else 0
    _record("edited", current, n_mails)
    return current


@transaction.atomic
def withdraw(*, announcement: Announcement) -> Announcement:
    """Show an announcement to nobody any more, and send none of its e-mails that wait. Repeated, it changes nothing."""
    lock(announcement.track_id)
    current = Announcement.objects.select_related("track").get(pk=announcement.pk)
    if current.withdrawn_at is None:
        current.withdrawn_at = timezone.now()
        current.save(update_fields=["withdrawn_at"])
        _record("withdrawn", current, 0)
    return current


def _checked(title: str, text: str, audiences: Sequence[str]) -> dict[str, object]:
    """The fields of an announcement.

    Raises Refused.
    """
    title, accepted = " ".join(title.split()), Announcement.Audience.values
    if not title or not text.strip():
        raise announcement_refused("The announcement needs a title and a text. Write them, then publish.")
    if len(text) > MOST_CHARACTERS:
        raise announcement_refused(
            f"The text has {len(text):,} characters; use at most {MOST_CHARACTERS:,}. Link a longer text."
        )
    if not audiences or set(audiences) - set(accepted):
        raise announcement_refused(f"Choose who sees the announcement: {', '.join(accepted)}.")
    chosen = [audience for audience in accepted if audience in audiences]
    return {"title": title, "text": text, "html": plain_html(text), "audiences": chosen}


def _send(announcement: Announcement, site: str) -> int:
    """Post a letter to each recipient; the number of letters. Where no mail server is set, there are none."""
    user_ids = list(recipients(announcement.track, announcement.audiences).values_list("pk", flat=True))
    posted = letters.post_each(
        kind=MAIL,
        data=[{"announcement": announcement.pk, "user": user_id} for user_id in user_ids],
        site=site,
    )
    mails = [
        AnnouncementMail(announcement=announcement, user_id=letter.data["user"], letter=letter)
        for letter in posted
    ]
    AnnouncementMail.objects.bulk_create(
        mails, update_conflicts=True, unique_fields=["announcement", "user"], update_fields=["letter"]
    )
    return len(mails)


def _record(verb: str, announcement: Announcement, n_mails: int) -> None:
    details = {"readers": announcement.readers, "sent to": counted(n_mails, "person,people")}
    audit.record(
        action=f"announcement.{verb}", subject=announcement, track=announcement.track, details=details
    )
