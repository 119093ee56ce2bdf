"""Data agreements, who may read them, and who accepted them."""

from dataclasses import dataclass

from django.db.models import QuerySet
from django.utils.safestring import SafeString, mark_safe

from accounts.access import AnyUser, oversees
from accounts.models import User
from tracks.models import AgreementAcceptance, AgreementVersion, Track


def has_accepted(user: AnyUser, track: Track) -> bool:
    """Return whether a user may have the data of a track: organizers, and everyone who accepted the version in force.

    Everyone, if the track has no agreement. One query at most.
    """
    if track.agreement_id is None or oversees(user, track.pk):
        return True
    return isinstance(user, User) and user.acceptances.filter(version=track.agreement_id).exists()


def versions_of(track: Track) -> QuerySet[AgreementVersion]:
    """The published versions of a track, newest first."""
    return track.agreement_versions.select_related("published_by").order_by("-number")


@dataclass(frozen=True)
class AgreementPage:
    """A version of the agreement. `acceptance` is the user's, if they accepted this version."""

    track: Track
    version: AgreementVersion | None
    versions: list[AgreementVersion]
    html: SafeString
    is_in_force: bool
    acceptance: AgreementAcceptance | None
    next: str


def agreement_page(
    track: Track, user: AnyUser, version: AgreementVersion | None, next_page: str = ""
) -> AgreementPage:
    """In two queries at most. `next_page` is where the user goes after accepting."""
    own = isinstance(user, User) and version is not None
    return AgreementPage(
        track=track,
        version=version,
        versions=list(versions_of(track).defer("text", "html")),
        html=mark_safe(version.html if version else ""),  # noqa: S308  sanitized before it was stored
        is_in_force=version is not None and version.pk == track.agreement_id,
        acceptance=user.acceptances.filter(version=version).first() if own else None,  # type: ignore[union-attr]
        next=next_page,
    )


def acceptances_of(track: Track) -> dict[int, AgreementAcceptance]:
    """The latest acceptance of each user of any version of a track, by the id of the user. One query."""
    accepted = AgreementAcceptance.objects.filter(version__track=track).select_related("version")
    return {
        acceptance.user_id: acceptance
        for acceptance in accepted.defer("version__text", "version__html").order_by("pk")
    }
