"""Clients of the API."""

from datetime import timedelta
from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import tokens as services
from accounts.models import User
from web.models import Scope


def make_token(user: User, *scopes: str, name: str = "", days: int = 30) -> str:
    """The text of a new token; without scopes, it has all of them."""
    expires_at = timezone.now() + timedelta(days=days)
    name = name or f"token {user.tokens.count()}"
    return services.create(user=user, name=name, scopes=scopes or Scope.values, expires_at=expires_at).text


def api(user: User | None, *scopes: str) -> Client:
    """A client that sends a token of a user with every request; of a visitor, one that sends none."""
    if user is None:
        return Client()
    return Client(headers={"Authorization": f"Bearer {make_token(user, *scopes)}"})


def call(client: Client, method: str, name: str, *arguments: object, data: Any = None, **options: Any) -> Any:
    """The response of an endpoint. `data` is sent as JSON, unless a content type is given."""
    options = {"content_type": "application/json"} | options
    return client.generic(
        method, reverse(f"api:{name}", args=arguments), _bytes(data, options["content_type"]), **options
    )


def _bytes(data: Any, content_type: str) -> bytes:
    import json

    if data is None or isinstance(data, bytes):
        return data or b""
    assert content_type == "application/json"
    return json.dumps(data).encode()
