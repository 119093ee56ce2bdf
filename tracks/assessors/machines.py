"""Add machines to the assessors of a track."""

import re
from datetime import datetime

from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts import tokens
from accounts.audit import services as audit
from accounts.models import Token, User
from accounts.tokens import NewToken
from tracks.models import Assessor, Machine, Track
from tracks.tracks import services as track_services
from tracks.tracks.services import track_refused
from web.models import Scope

MAX_NAME = 150  # characters of the name of an account
SCOPES = (Scope.READ, Scope.JUDGE)  # of the tokens of a machine
BETWEEN_WORDS = re.compile(r"[^\w.+]+")


@transaction.atomic
def add(
    *,
    track: Track,
    name: str,
    version: str,
    description: str = "",
    family: str = "",
    owner: User,
    by: User,
) -> Machine:
    """Make a program or a model an assessor of a track, with its own account, which has no password.

    Raises:
        Refused: The track has a machine of this name and version, or the owner is a machine.
    """
    current = track_services.lock(track.pk)
    if owner.is_machine:
        raise track_refused(f"{owner} is a machine. The owner of a machine is a person who answers for it.")
    username = user_name(name, version, current.slug)
    if User.objects.filter(username=username).exists():
        raise track_refused(f"{current} has a machine {name} {version} already. Name another version.")
    user = User.objects.create(username=username, password=make_password(None), is_machine=True)
    assessor = Assessor.objects.create(track=current, user=user)
    machine = Machine.objects.create(
        assessor=assessor,
        name=name,
        version=version,
        description=description,
        family=family,
        owner=owner,
        created_by=by,
    )
    audit.record(action="machine.added", subject=machine, track=current, details={"owner": str(owner)}, by=by)
    return machine


@transaction.atomic
def create_token(*, machine: Machine, name: str, expires_at: datetime) -> NewToken:
    """Create a token with which the machine judges, and reads what an assessor reads.

    Raises Refused.
    """
    new = tokens.create(user=machine.assessor.user, name=name, scopes=SCOPES, expires_at=expires_at)
    _record("machine-token.created", machine, new.token)
    return new


@transaction.atomic
def revoke_token(*, machine: Machine, token: Token) -> None:
    """End the validity of a token of the machine."""
    tokens.revoke(token=token)
    _record("machine-token.revoked", machine, token)


def _record(action: str, machine: Machine, token: Token) -> None:
    audit.record(action=action, subject=machine, track=machine.assessor.track, details={"token": token.name})


def user_name(name: str, version: str, slug: str) -> str:
    """The name of a machine's account, which its judgments show.

    >>> user_name("Llama judge", "3.1 70B", "task1")
    'llama-judge_3.1-70b@task1'
    """
    words = (BETWEEN_WORDS.sub("-", word.casefold()).strip("-") for word in (name, version))
    return f"{'_'.join(words)}@{slug}"[:MAX_NAME]
