"""Users by name, their access tokens, and the times at which their login was locked."""

from collections.abc import Collection, Sequence
from typing import Any, cast

from django.apps import apps
from django.conf import settings
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL

from accounts.models import IS_PERSON, Lockout, Role, Token, User

SHOWN_LOCKOUTS = 10
# The column of a query of accounts with the roles of each, for `roles_in`
ROLES_OF_ACCOUNT = RawSQL(
    "(SELECT json_agg(json_build_array(role.track_id, track.slug, role.is_chair)) FROM tracks_organizer role"
    " JOIN tracks_track track ON track.id = role.track_id WHERE role.user_id = accounts_user.id)",
    (),
)

# The same with the tracks for which each judges
JUDGED_OF_ACCOUNT = RawSQL(
    "(SELECT json_agg(json_build_array(track.id, track.slug)) FROM tracks_assessor assessor"
    " JOIN tracks_track track ON track.id = assessor.track_id"
    " WHERE assessor.user_id = accounts_user.id AND assessor.ended_at IS NULL)",
    (),
)


def roles_in(column: Sequence[Sequence[Any]] | None) -> dict[int, Role]:
    """The roles that `ROLES_OF_ACCOUNT` found, by the id of the track."""
    return {track_id: Role(*role) for track_id, *role in column or ()}


def judged_in(column: Sequence[Sequence[Any]] | None) -> set[str | int]:
    """The ids and the slugs of the tracks that `JUDGED_OF_ACCOUNT` found."""
    return {name for row in column or () for name in row}


def user_named(username: str) -> User | None:
    return User.objects.filter(username=username).first()


def creator_named(username: str) -> User | None:
    """The organizer or administrator with a user name, for commands."""
    user = user_named(username)
    return user if user is not None and user.may_create else None


def has_administrator() -> bool:
    return User.objects.filter(is_staff=True, is_active=True).exists()


def organizers_to_mail(track_id: int) -> QuerySet[User]:
    """The organizers of a track who want e-mails about requests to join it, and have an address."""
    wanting = User.objects.filter(is_active=True, is_mailed_about_requests=True)
    organizing = wanting.filter(organizer_of__track=track_id, organizer_of__is_chair=False)
    return organizing.exclude(email="").order_by("pk")


def administrators_to_mail() -> QuerySet[User]:
    """The administrators who have an address."""
    return User.objects.filter(is_superuser=True, is_active=True).exclude(email="").order_by("pk")


def people() -> QuerySet[User]:
    """Everyone who has an account to log in. Machines and people who judge by a link have none."""
    return User.objects.filter(**IS_PERSON)


def people_named(names: Collection[str]) -> QuerySet[User]:
    return people().filter(username__in=names)


def user_by_id(user_id: int) -> User:
    return User.objects.get(pk=user_id)


def lockouts_of(user: User) -> QuerySet[Lockout]:
    """The latest times at which wrong passwords locked an account, by address."""
    return user.lockouts.all()[:SHOWN_LOCKOUTS]


def tokens_of(user: User) -> QuerySet[Token]:
    """The tokens of a user: valid ones first, then by their end. `track_slug` names the only track of a token."""
    slug = _tracks().filter(pk=OuterRef("track_id")).values("slug")
    return user.tokens.annotate(track_slug=Subquery(slug)).order_by("revoked_at", "-expires_at", "-pk")


def tracks_of_tokens(user: User) -> QuerySet[Any]:
    """The tracks to which a user can limit a token: those of their roles and teams; for administrators, all.

    Drafts are named to their organizers and chairs only.
    """
    takes_part = Q(assessors__user=user) | Q(teams__members=user)
    with_role = Q(organizers__user=user) | (takes_part & ~Q(status="draft"))
    return _tracks().filter(Q() if user.is_administrator else with_role).order_by("slug").distinct()


def _tracks() -> QuerySet[Any]:
    """Of an app above this one."""
    return cast("QuerySet[Any]", apps.get_model("tracks.Track")._default_manager.all())


def orcids_of(user_ids: Collection[int] | QuerySet[Any, Any]) -> dict[int, str]:
    """The ORCID iDs of users who have proved them by logging in at ORCID. None where nobody can."""
    if not settings.SIGN_IN:
        return {}
    connected = apps.get_app_config("socialaccount").get_model("SocialAccount")._default_manager
    rows = connected.filter(provider="orcid", user_id__in=user_ids)
    return dict(rows.values_list("user_id", "uid"))


def lacks_second_factor(user: User) -> bool:
    """Return whether an administrator has yet to set up the second factor that this site wants. A query for staff."""
    if not settings.SECOND_FACTOR or not user.is_staff:
        return False
    factors = apps.get_app_config("mfa").get_model("Authenticator")._default_manager
    return not factors.filter(user_id=user.pk, type="totp").exists()


def language_of(user: User | None, address: str) -> str:
    """The language of the account of a person, or of the only one with an address; empty if none is known."""
    if user is not None:
        return user.language
    languages = User.objects.filter(email__iexact=address).values_list("language", flat=True)[:2]
    return languages[0] if len(languages) == 1 else ""
