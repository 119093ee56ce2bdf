"""Create, find and revoke access tokens."""

import hashlib
import secrets
import string
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from accounts.audit import services as audit
from accounts.models import Token, User
from accounts.selectors import ROLES_OF_ACCOUNT, roles_in, tracks_of_tokens
from assay.errors import Refused
from web.models import Scope
from web.names import problem_of
from web.statements import Prepared

PREFIX = "assay_"
SHOWN = len(PREFIX) + 6  # characters by which a person recognizes a token
SECRET_LENGTH = 40  # letters and digits: 238 bits
ALPHABET = string.ascii_letters + string.digits
MAX_DAYS = 366
MAX_TOKENS = 50  # valid ones of a user
BETWEEN_USES = timedelta(minutes=1)  # the time of the latest use is that exact

_VALID = Prepared(
    lambda digest, now: (
        Token.objects.filter(digest=digest, revoked_at=None, expires_at__gt=now, user__is_active=True)
        .select_related("user")
        .annotate(role_rows=ROLES_OF_ACCOUNT)
    )
)

token_refused = partial(Refused, code="token-refused", title="The token was not created")


@dataclass(frozen=True)
class NewToken:
    """A token, and its text, which is stored nowhere."""

    token: Token
    text: str


@transaction.atomic
def create(
    *,
    user: User,
    name: str,
    scopes: Collection[str],
    expires_at: datetime,
    track: str = "",
    within: Token | None = None,
) -> NewToken:
    """Create a token for a user. It has a free name, known scopes, and an end within a year.

    `track` is the slug of the only track where it is valid. A token of one track does not get here.
    `within` is the token that asks for it: the new one has no scope that it lacks, and does not outlive it.
    """
    user = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    name, now = name.strip(), timezone.now()
    unknown = sorted(set(scopes) - set(Scope.values))
    if unknown or not scopes:
        wrong = f"Unknown scope {unknown[0]}" if unknown else "A token needs a scope"
        raise token_refused(f"{wrong}; use {', '.join(Scope.values)}.")
    if problem := problem_of(name):
        raise token_refused(problem)
    if not now < expires_at <= now + timedelta(days=MAX_DAYS):
        raise token_refused(f"A token expires in the future, at most {MAX_DAYS} days from now.")
    if within is not None and (set(scopes) - set(within.scopes) or expires_at > within.expires_at):
        raise token_refused(
            f"A token creates tokens with its own scopes ({', '.join(within.scopes)}) that end by "
            f"{within.expires_at:%Y-%m-%d %H:%M} UTC, as it does itself. Create others on the page of your account."
        )
    valid = Token.objects.filter(user=user, revoked_at=None)
    if valid.filter(name=name).exists():
        raise token_refused(f"You already have a token named {name}. Revoke it, or choose another name.")
    if valid.filter(expires_at__gt=now).count() >= MAX_TOKENS:
        raise token_refused(f"You already have {MAX_TOKENS} valid tokens. Revoke one of them first.")
    named = tracks_of_tokens(user).filter(slug=track).values_list("pk", flat=True)
    track_id = named.first() if track else None
    if track and track_id is None:
        raise token_refused(
            f"There is no track {track} in which {user} has a role, as a token of one track needs."
        )
    text = PREFIX + "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))
    token = Token.objects.create(
        user=user,
        name=name,
        scopes=[scope for scope in Scope.values if scope in scopes],
        track_id=track_id,
        shown=text[:SHOWN],
        digest=digest_of(text),
        expires_at=expires_at,
    )
    details = {
        "user": user.username,
        "scopes": token.scopes,
        **({"track": track} if track else {}),
        "expires": expires_at.isoformat(timespec="minutes"),
    }
    audit.record(action="token.created", subject=token.name, details=details)
    return NewToken(token, text)


def digest_of(text: str) -> str:
    """Return the part of a token that is stored. Its text is random, so a fast digest suffices."""
    return hashlib.sha256(text.encode()).hexdigest()


def use(*, text: str) -> Token | None:
    """The valid token with a text, of an active user with their roles; its use is noted, at most once a minute."""
    now = timezone.now()
    token = _VALID.first(digest=digest_of(text), now=now)
    if token is None:
        return None
    token.user.known_roles = roles_in(vars(token)["role_rows"])
    if token.last_used_at is None or token.last_used_at < now - BETWEEN_USES:
        Token.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


@transaction.atomic
def revoke(*, token: Token) -> None:
    """End the validity of a token. Revoking it again changes nothing."""
    if Token.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(action="token.revoked", subject=token.name, details={"user": token.user.username})


def delete_old() -> None:
    """Delete tokens that have been useless for a year."""
    limit = timezone.now() - timedelta(days=MAX_DAYS)
    Token.objects.filter(Q(revoked_at__lt=limit) | Q(expires_at__lt=limit)).delete()
