"""User accounts."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.core.exceptions import ValidationError
from django.db import models

from web.models import JsonField
from web.names import NameField, mixes_alphabets, problem_of, shape_of


class Role(NamedTuple):
    """The role of a user in a track: its organizer, or its chair, who sees the same and changes nothing."""

    slug: str
    is_chair: bool


class User(AbstractUser):
    """A person who can log in. `is_staff` marks administrators; a track names its organizers, chairs and assessors.

    If `is_machine`, it is a program that judges for a track. It never logs in; it has only tokens. With `guest_until`,
    it belongs to somebody who judges by a link until then: it has no password, and no page but those of its batch.
    """

    first_name = NameField("first name", max_length=150, blank=True)
    last_name = NameField("last name", max_length=150, blank=True)
    uses_shortcuts = models.BooleanField(
        "single-key shortcuts",
        default=True,
        help_text="Judge with single keys. Switch this off if you use speech input or another tool that sends keys.",
    )

    accepts_next = models.BooleanField(
        "next task at once",
        default=True,
        help_text="After a submission, take the next task at once. Off: first ask whether to go on.",
    )
    grade_submits = models.BooleanField(
        "a grade submits",
        default=False,
        db_default=False,
        help_text="A grade submits, where nothing else is asked.",
    )
    shows_time_left = models.BooleanField(
        "time left",
        default=True,
        db_default=True,
        help_text="The judging page shows the time left for a task.",
    )
    judging_keys = JsonField(
        default=dict, editable=False, help_text="The user's own keys on the judging page, by action."
    )
    highlights_topic_words = models.BooleanField(
        default=False, help_text="The judging page highlights the words of the topic in the document."
    )

    language = models.CharField(
        max_length=10,
        choices=settings.LANGUAGES,
        blank=True,
        default="",
        help_text="Of the pages and e-mails for assessors. Empty: the first choice of the browser that Assay has.",
    )

    is_mailed_about_runs = models.BooleanField(
        "e-mails about runs",
        default=False,
        help_text="An e-mail when a run of a team of the user is accepted or rejected, or a leaderboard is released.",
    )

    is_mailed_about_requests = models.BooleanField(
        "e-mails about requests to join",
        default=True,
        help_text="An e-mail to an organizer when somebody asks to join a track.",
    )

    is_mailed_about_announcements = models.BooleanField(
        "e-mails about announcements",
        default=True,
        help_text="An e-mail with each announcement of the organizers of a track of the user.",
    )

    link_sent_at = models.DateTimeField(
        null=True, editable=False, help_text="The latest e-mail with a login link."
    )

    is_machine = models.BooleanField("machine", default=False, editable=False)
    guest_until = models.DateTimeField(null=True, editable=False, help_text="The end of work by a link.")
    last_seen_at = models.DateTimeField(
        null=True, editable=False, help_text="The latest request, to the hour."
    )

    session_version = models.PositiveIntegerField(
        db_default=0, default=0, editable=False, help_text="How often all sessions of the user were ended."
    )

    has_stated_email = models.BooleanField(
        db_default=False,
        default=False,
        editable=False,
        help_text="Nobody but the user, or a member of a team, has stated the address.",
    )

    class Meta(AbstractUser.Meta):
        pass

    known_roles: Mapping[int, Role] | None = None  # of the user of a request, who is asked more than once
    known_judged: set[str | int] | None = None  # ids and slugs of tracks, of the user of a request too
    lacks_second_factor = False  # of the user of a request: an administrator who must set one up first

    @property
    def named(self) -> str:
        """The name for people who know each other: the full one, or the user name."""
        return self.get_full_name() or self.username

    def clean(self) -> None:
        """Refuse a user name that looks like another one: the admin asks."""
        super().clean()
        # There is no name if its form has refused it
        if self.username and self.has_misleading_name(self.username, but=self.pk or 0):
            raise ValidationError({"username": "This user name looks like another one, or mixes alphabets."})

    @classmethod
    def has_misleading_name(cls, username: str, *, but: int = 0) -> bool:
        """Return whether a user name mixes alphabets, cannot be seen, or looks like that of another account.

        Names of ASCII letters take one query, and a second one if accounts have others.
        """
        if problem_of(username) or mixes_alphabets(username):
            return True
        others = cls._default_manager.exclude(pk=but)
        if others.filter(username__iexact=username).exists():
            return True
        if username.isascii():
            others = others.exclude(username__regex=r"^[ -~]*$")
        shape = shape_of(username)
        return any(shape_of(name) == shape for name in others.values_list("username", flat=True))

    def get_session_auth_hash(self) -> str:
        """The hash that a session must have: another password or version ends it."""
        return self._with_version(super().get_session_auth_hash())

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return map(self._with_version, super().get_session_auth_fallback_hash())

    def _with_version(self, digest: str) -> str:
        return f"{digest}.{self.session_version}" if self.session_version else digest

    @property
    def roles(self) -> Mapping[int, Role]:
        """The tracks that the user organizes or chairs, by id; none while the account is not active.

        They come with the user of a request. For another instance, each use is a query.
        """
        if self.pk is None or not self.is_active:
            return {}
        if self.known_roles is not None:
            return self.known_roles
        rows = self.organizer_of.values_list("track_id", "track__slug", "is_chair")
        return {track_id: Role(slug, is_chair) for track_id, slug, is_chair in rows}

    def role_at(self, track: str | int | None) -> Role | None:
        """The role in the track with a slug or an id."""
        if isinstance(track, str):
            return next((role for role in self.roles.values() if role.slug == track), None)
        return self.roles.get(track) if track is not None else None

    def oversees(self, track_id: int) -> bool:
        """Return whether the user sees everything of a track: as its organizer or as its chair."""
        return track_id in self.roles

    def organizes(self, track_id: int) -> bool:
        """Return whether the user may change a track."""
        role = self.roles.get(track_id)
        return role is not None and not role.is_chair

    @property
    def organized(self) -> list[int]:
        """The ids of the tracks that the user may change."""
        return [track_id for track_id, role in self.roles.items() if not role.is_chair]

    @property
    def is_administrator(self) -> bool:
        """True for people who look after the site: accounts, collections, people of tracks, jobs. Sees no judgments."""
        return self.is_active and self.is_staff and not self.lacks_second_factor

    @property
    def is_organizer(self) -> bool:
        """True for an organizer of any track."""
        return bool(self.organized)

    @property
    def may_create(self) -> bool:
        """True for people who may create tracks and protocols, and import collections and archives."""
        return self.is_administrator or self.is_organizer


IS_PERSON = {"is_machine": False, "guest_until": None}  # somebody who can log in
