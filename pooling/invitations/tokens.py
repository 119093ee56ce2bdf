"""The tokens of invitations. Only a digest is stored, and still a link can be shown or sent again.

A token is the HMAC of the row's random nonce under the secret key of the site. Who reads the database alone can neither
make a link nor use one.
"""

import base64
import hashlib
import secrets

from django.conf import settings
from django.utils.crypto import salted_hmac

SALT = "pooling.invitations"


def new_nonce() -> str:
    return secrets.token_hex(16)


def make_token(nonce: str, key: str | None = None) -> str:
    """The token for a nonce: 43 letters, digits, `-` and `_`. `key` is by default the secret key of the site."""
    mac = salted_hmac(SALT, nonce, secret=key or settings.SECRET_KEY, algorithm="sha256").digest()
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


def digest_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def token_of(nonce: str, digest: str) -> str | None:
    """The token of a row; None if it was made under a secret key that the site no longer knows."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    tokens = (make_token(nonce, key) for key in keys)
    return next((token for token in tokens if digest_of(token) == digest), None)
