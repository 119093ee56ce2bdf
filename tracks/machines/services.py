"""Add machines to the assessors of a track."""

import re

from django.contrib.auth.hashers import make_password
from django.db import transaction

from accounts.models import User
from tracks.models import Assessor, Machine, Track
from tracks.tracks import services as track_services
from tracks.tracks.services import TrackRefused

MAX_NAME = 150  # characters of the name of an account
BETWEEN_WORDS = re.compile(r"[^\w.+]+")


@transaction.atomic
def add(*, track: Track, name: str, version: str, description: str = "", owner: User, by: User) -> Machine:
    """Make a program or a model an assessor of a track, with its own account, which has no password.

    Raises
    ------
    TrackRefused
        The track has a machine of this name and version, or the owner is a machine.
    """
    current = track_services.lock(track.pk)
    if owner.is_machine:
        raise TrackRefused(f"{owner} is a machine. The owner of a machine is a person who answers for it.")
    username = user_name(name, version, current.slug)
    if User.objects.filter(username=username).exists():
        raise TrackRefused(f"{current} has a machine {name} {version} already. Name another version.")
    user = User.objects.create(username=username, password=make_password(None), is_machine=True)
    assessor = Assessor.objects.create(track=current, user=user)
    return Machine.objects.create(
        assessor=assessor,
        name=name,
        version=version,
        description=description,
        owner=owner,
        created_by=by,
    )


def user_name(name: str, version: str, slug: str) -> str:
    """The name of a machine's account, which its judgments show.

    >>> user_name("Llama judge", "3.1 70B", "task1")
    'llama-judge_3.1-70b@task1'
    """
    words = (BETWEEN_WORDS.sub("-", word.casefold()).strip("-") for word in (name, version))
    return f"{'_'.join(words)}@{slug}"[:MAX_NAME]
