"""Reads settings from the environment. A bad value stops the start; the message names the variable and the value.

An empty variable counts as unset, because compose files and shells pass empty variables.
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
    """Values separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()] or list(default)


def boolean(name: str, *, default: bool = False) -> bool:
    value = text(name).lower()
    if value and value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is '{text(name)}'; use true or false.")
    return value in TRUE if value else default


def number(name: str, default: float, *, least: float = 0) -> float:
    """A number, not below `least`."""
    written = text(name, str(default))
    try:
        value = float(written)
    except ValueError:
        value = float("nan")
    if not least <= value < float("inf"):
        raise ImproperlyConfigured(f"{name} is '{written}'; use a number of at least {least:g}.")
    return value


def one_of(name: str, allowed: Collection[str], default: str) -> str:
    value = text(name, default)
    if value not in allowed:
        raise ImproperlyConfigured(f"{name} is '{value}'; use one of {', '.join(allowed)}.")
    return value


def origins(name: str) -> list[str]:
    """Origins such as https://assay.example.org."""
    values = words(name)
    for origin in values:
        if not origin.startswith(("http://", "https://")):
            raise ImproperlyConfigured(
                f"{name} contains '{origin}'; an origin begins with https:// or http://."
            )
    return values


def database(name: str, default: str) -> dict[str, Any]:
    """A PostgreSQL address. Error messages do not repeat the password."""
    url = text(name, default)
    scheme = url.partition("://")[0]
    if scheme not in POSTGRES:
        raise ImproperlyConfigured(
            f"{name} begins with '{scheme[:20]}'; use postgresql://user:password@host:5432/database."
        )
    try:
        return dict(environ.Env.db_url_config(url))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not a valid address: {error}.") from error


def broker(name: str, default: str) -> str:
    url = text(name, default)
    scheme = url.partition("://")[0]
    if scheme not in BROKERS:
        raise ImproperlyConfigured(f"{name} begins with '{scheme[:20]}'; use redis://host:6379/0.")
    return url


def secret(name: str, file: Path) -> str:
    """A secret from the environment, or from a file that is created once and that only its owner may read."""
    if text(name):
        return text(name)
    try:
        return _kept_secret(file)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{name} is not set, and {file} cannot be read or created: {error.strerror}."
        ) from error


def _kept_secret(file: Path) -> str:
    if not file.exists():
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
            out.write(secrets.token_urlsafe(50))
        try:
            os.link(fresh, file)  # if two processes start together, both use the first file
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return file.read_text().strip()


def queue_folders(folder: Path) -> dict[str, str | int]:
    """The folders of Celery's queue without a broker. Its transport expects them to exist."""
    messages, control = folder / "messages", folder / "control"
    for each in (messages, control):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {"data_folder_in": str(messages), "data_folder_out": str(messages), "control_folder": str(control)}
