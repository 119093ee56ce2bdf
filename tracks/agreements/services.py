"""Publish, withdraw and accept the data agreement of a track. A published version is never changed."""

import hashlib

from django.db import transaction

from accounts.access import AnyUser
from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from tracks.agreements.selectors import has_accepted
from tracks.markdown import plain_html
from tracks.models import AgreementAcceptance, AgreementVersion, Track
from tracks.tracks.services import lock

NOT_CHANGED = "The data agreement was not changed"


@transaction.atomic
def publish(*, track: Track, text: str, revision: int, by: User) -> AgreementVersion:
    """Bring a text into force. Everyone has to accept it, also who accepted an earlier version.

    `revision` is the number of the version in force on the page, 0 for none.

    Raises:
        Refused: Another version is in force now; or the text is empty, or that of the version in force.
    """
    current = lock(track.pk)
    _check_revision(current, revision)
    if not text.strip():
        raise Refused(
            "The text is empty. Write it, then publish; or withdraw the agreement.",
            code="no-text",
            title=NOT_CHANGED,
        )
    if current.agreement is not None and current.agreement.text == text:
        raise Refused(
            f"The text is the same as that of version {current.agreement.number}. Change it, then publish.",
            code="nothing-changed",
            title=NOT_CHANGED,
        )
    latest = current.agreement_versions.order_by("-number").first()
    version = AgreementVersion.objects.create(
        track=current,
        number=latest.number + 1 if latest else 1,
        text=text,
        html=plain_html(text),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        published_by=by,
    )
    current.agreement = version
    current.save(update_fields=["agreement"])
    details = {"version": version.number, "sha256": version.sha256}
    audit.record(action="agreement.published", subject=current, track=current, details=details, by=by)
    return version


@transaction.atomic
def withdraw(*, track: Track, revision: int) -> Track:
    """Ask for no agreement any more. Versions and acceptances are kept.

    Raises:
        Refused: Another version is in force now.
    """
    current = lock(track.pk)
    _check_revision(current, revision)
    current.agreement = None
    current.save(update_fields=["agreement"])
    audit.record(action="agreement.withdrawn", subject=current, track=current)
    return current


@transaction.atomic
def accept(*, track: Track, user: User, revision: int) -> AgreementAcceptance:
    """Record that a user accepts the version that they have read, with its digest and the time. Safe to repeat.

    Raises:
        Refused: Another version is in force now, or none.
    """
    current = lock(track.pk)
    _check_revision(current, revision)
    if current.agreement is None:
        raise _changed(current)
    accepted, _ = AgreementAcceptance.objects.get_or_create(
        version=current.agreement, user=user, defaults={"sha256": current.agreement.sha256}
    )
    return accepted


def check_accepted(*, track: Track, user: AnyUser) -> None:
    """Refuse a user who has not accepted the agreement in force."""
    if not has_accepted(user, track):
        raise Refused(
            f"{track} has a data agreement. Read and accept it on the page of the track, then try again.",
            code="agreement-needed",
            title="Accept the data agreement first",
        )


def _check_revision(track: Track, revision: int) -> None:
    if (track.agreement.number if track.agreement else 0) != revision:
        raise _changed(track)


def _changed(track: Track) -> Refused:
    state = f"Version {track.agreement.number} is in force now" if track.agreement else "It was withdrawn"
    return Refused(
        f"The data agreement changed after you opened the page. {state}: read it first.",
        code="version-changed",
        title="Another version is in force",
    )
