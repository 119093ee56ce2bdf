"""System checks of the settings."""

import os
from pathlib import Path

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004

from assay.cli.commands.extensions import checked
from assay.extensions import ExtensionError

SECRET_LENGTH = 32
HEARTBEATS = 3
UNSAFE = {"'unsafe-inline'", "'unsafe-eval'", "*", "https:", "http:"}


def secret_key(**_: object) -> list[CheckMessage]:
    if len(settings.SECRET_KEY) >= SECRET_LENGTH:
        return []
    hint = "Use 50 random characters, or unset it: the server then generates a key."
    return [Error(f"SECRET_KEY has fewer than {SECRET_LENGTH} characters.", hint=hint, id="assay.E001")]


def folders(**_: object) -> list[CheckMessage]:
    """The folders of uploads must be writable."""
    errors: list[CheckMessage] = []
    for folder in (Path(settings.VAR_DIR), Path(settings.MEDIA_ROOT)):
        nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
        if not os.access(nearest, os.W_OK | os.X_OK):
            message = f"Cannot create {folder}: {nearest} is not writable."
            errors.append(
                Error(
                    message,
                    hint="Set ASSAY_VAR to another folder, or change the owner of this one.",
                    id="assay.E002",
                )
            )
    return errors


def jobs(**_: object) -> list[CheckMessage]:
    """A job must not count as lost between two heartbeats, or workers would repeat it endlessly."""
    if settings.JOB_LOST_AFTER_SECONDS >= HEARTBEATS * settings.JOB_HEARTBEAT_SECONDS:
        return []
    message = (
        f"JOB_LOST_AFTER_SECONDS is {settings.JOB_LOST_AFTER_SECONDS:g}; it must be at least {HEARTBEATS} times "
        f"JOB_HEARTBEAT_SECONDS, which is {settings.JOB_HEARTBEAT_SECONDS:g}."
    )
    return [Error(message, id="assay.E003")]


def content_security_policy(**_: object) -> list[CheckMessage]:
    directives = settings.CONTENT_SECURITY_POLICY["DIRECTIVES"]
    unsafe = sorted(
        f"{name} {value}" for name, values in directives.items() for value in UNSAFE & set(values)
    )
    if not unsafe:
        return []
    return [Error(f"CONTENT_SECURITY_POLICY allows {', '.join(unsafe)}.", id="assay.E004")]


def extensions(**_: object) -> list[CheckMessage]:
    """Extensions that cannot be used stop the start."""
    try:
        checked()
    except ExtensionError as error:
        return [Error(str(error), id="assay.E005")]
    return []


def front_end(**_: object) -> list[CheckMessage]:
    if (Path(settings.BASE_DIR) / "static" / "vendor" / "bootstrap").is_dir():
        return []
    return [
        Warning(
            "static/vendor is missing, so pages have no styles.", hint="Run `make setup`.", id="assay.W005"
        )
    ]


def https(**_: object) -> list[CheckMessage]:
    if settings.HTTPS:
        return []
    return [
        Warning("HTTPS is off, so passwords are sent unencrypted.", hint="Set HTTPS=true.", id="assay.W006")
    ]


def allowed_hosts(**_: object) -> list[CheckMessage]:
    if "*" not in settings.ALLOWED_HOSTS:
        return []
    hint = "Name the hosts of the site: redirects contain the host of the request."
    return [Warning("ALLOWED_HOSTS contains *, so any host name is accepted.", hint=hint, id="assay.W007")]


def site_url(**_: object) -> list[CheckMessage]:
    if settings.SITE_URL:
        return []
    message = "SITE_URL is not set, so links in e-mails have the host and port that the request names."
    hint = "Set it to the address of the site, such as https://assay.example.org."
    return [Warning(message, hint=hint, id="assay.W009")]


def proxies(**_: object) -> list[CheckMessage]:
    if not settings.BEHIND_PROXY or settings.TRUSTED_PROXIES:
        return []
    message = (
        "BEHIND_PROXY is true, but TRUSTED_PROXIES is not set: all requests seem to come from the proxy."
    )
    hint = "Set TRUSTED_PROXIES to the number of proxies. Otherwise wrong passwords of anybody lock an account for all."
    return [Warning(message, hint=hint, id="assay.W008")]


def register_all() -> None:
    for check in (secret_key, content_security_policy):
        register(check, Tags.security)
    register(folders, Tags.files)
    register(jobs)
    register(extensions)
    register(front_end, Tags.staticfiles)
    for check in (https, allowed_hosts, site_url, proxies):
        register(check, Tags.security, deploy=True)
