"""Reads settings from the environment. A value that cannot be used stops the start, naming variable and value.

An empty variable counts as unset: compose files and shells pass those.
"""

import os
import secrets
from collections.abc import Collection
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
POSTGRES = {"postgres", "postgresql"}
BROKERS = {"redis", "rediss", "redis+socket", "filesystem"}


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def words(name: str, default: Collection[str] = ()) -> list[str]:
    """Values between commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()] or list(default)


def boolean(name: str, *, default: bool = False) -> bool:
    given = text(name).lower()
    if given and given not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is '{text(name)}'; use true or false.")
    return given in TRUE if given else default


def number(name: str, default: float, *, least: float = 0) -> float:
    """A number, not below `least`."""
    given = text(name, str(default))
    try:
        value = float(given)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf"):
        raise ImproperlyConfigured(f"{name} is '{given}'; use a number from {least:g} up.")
    return value


def one_of(name: str, allowed: Collection[str], default: str) -> str:
    given = text(name, default)
    if given not in allowed:
        raise ImproperlyConfigured(f"{name} is '{given}'; use one of {', '.join(allowed)}.")
    return given


def origins(name: str) -> list[str]:
    """Origins such as https://assay.example.org."""
    given = words(name)
    for origin in given:
        if not origin.startswith(("http://", "https://")):
            raise ImproperlyConfigured(f"{name} holds '{origin}'; an origin begins with https:// or http://.")
    return given


def database(name: str, default: str) -> dict[str, Any]:
    """A PostgreSQL address. The password is not repeated in a complaint."""
    url = text(name, default)
    scheme = url.partition("://")[0]
    if scheme not in POSTGRES:
        raise ImproperlyConfigured(
            f"{name} begins with '{scheme[:20]}'; use postgresql://user:password@host:5432/database."
        )
    try:
        return dict(environ.Env.db_url_config(url))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not an address that can be read: {error}.") from error


def broker(name: str, default: str) -> str:
    url = text(name, default)
    scheme = url.partition("://")[0]
    if scheme not in BROKERS:
        raise ImproperlyConfigured(f"{name} begins with '{scheme[:20]}'; use redis://host:6379/0.")
    return url


def secret(name: str, file: Path) -> str:
    """A secret of the environment, else of a file that is made once, for the owner alone."""
    if text(name):
        return text(name)
    try:
        return _kept_secret(file)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} is not set, and {file} cannot be used: {error.strerror}."
        ) from error


def _kept_secret(file: Path) -> str:
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(50))
        try:
            os.link(fresh, file)  # two processes that start together keep the same one
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return file.read_text().strip()


def queue_folders(folder: Path) -> dict[str, str | int]:
    """The folders of Celery's queue without a broker; the transport wants them to exist."""
    messages, control = folder / "messages", folder / "control"
    for each in (messages, control):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {"data_folder_in": str(messages), "data_folder_out": str(messages), "control_folder": str(control)}
