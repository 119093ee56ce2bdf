"""Reads settings from the environment. A bad value stops the start; the message names the variable and the value.

An empty variable counts as unset, because compose files and shells pass empty variables.
"""

import importlib.util
import os
import re
import secrets
from collections.abc import Collection
from datetime import time
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from redis import ConnectionPool

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}
POSTGRES = {"postgres", "postgresql"}
MAX_PROXIES = 20
TOKEN_LENGTH = 16
Proxies = int | tuple[IPv4Network | IPv6Network, ...]
MAIL = {"smtp": (25, None), "smtp+tls": (587, "EMAIL_USE_TLS"), "smtp+ssl": (465, "EMAIL_USE_SSL")}
BROKERS = {"redis", "rediss", "redis+socket", "filesystem"}
ORCID = "https://orcid.org"
PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*\*?|\*")
PROVIDER = re.compile(r"[a-z][a-z0-9-]{0,29}")
DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
S3 = "s3://"
BUCKET_FOLDER = re.compile(rf"{S3}[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9._-]+)*/?")
LOCAL = {"localhost", "127.0.0.1", "::1"}


def text(name: str, default: str = "") -> str:
    """The value of a variable, or the content of the file that `NAME_FILE` names: where secrets come as files."""
    value, file = os.environ.get(name, "").strip(), os.environ.get(f"{name}_FILE", "").strip()
    if value and file:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; use one of them.")
    if file:
        try:
            value = Path(file).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{name}_FILE is '{file}', which cannot be read: {error}.") from error
    return value or default


def words(name: str, default: Collection[str] = ()) -> list[str]:
    """Values separated by commas."""
    return [word.strip() for word in text(name).split(",") if word.strip()] or list(default)


def boolean(name: str, *, default: bool = False) -> bool:
    value = text(name).lower()
    if value and value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is '{text(name)}'; use true or false.")
    return value in TRUE if value else default


def no_debug_pages(name: str, *, https: str) -> bool:
    """A variable for developers, which cannot be true on a site that people reach."""
    if boolean(name) and boolean(https):
        raise ImproperlyConfigured(
            f"{name} and {https} are both true; pages of errors would show everyone settings and code."
        )
    return boolean(name)


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


def origins(name: str, *, every: str = "") -> list[str]:
    """Origins such as https://assay.example.org, or the word for every origin."""
    values = words(name)
    for value in values:
        if value != every and not value.startswith(("http://", "https://")):
            raise ImproperlyConfigured(
                f"{name} contains '{value}'; an origin begins with https:// or http://."
            )
    return values


def judge_addresses(name: str, *, over_http: bool) -> dict[str, str]:
    """Base addresses of models, each with the variable of its key after the last `=`, if it has one."""
    addresses = {}
    for value in words(name):
        address, _, variable = value.rpartition("=") if "=" in value else (value, "", "")
        if not address.startswith(("http://", "https://")) or (variable and not variable.isidentifier()):
            raise ImproperlyConfigured(
                f"{name} contains '{value}'; use addresses such as https://models.example.org/v1=MODELS_KEY."
            )
        if address.startswith("http://") and not over_http:
            raise ImproperlyConfigured(
                f"{name} contains '{address}'; use https://, or allow http:// with WEBHOOKS_OVER_HTTP."
            )
        addresses[address.rstrip("/")] = variable
    return addresses


def origin(name: str) -> str:
    """The origin under which people reach the site, such as https://assay.example.org; empty if it is not set."""
    value = text(name).rstrip("/")
    try:
        url = urlsplit(value)
        is_origin = (
            url.scheme in {"http", "https"} and value == f"{url.scheme}://{url.netloc}" and url.port != 0
        )
        is_origin = is_origin and bool(url.hostname) and url.username is None
    except ValueError:
        is_origin = False
    if value and not is_origin:
        raise ImproperlyConfigured(
            f"{name} is '{value}'; use the address of the site without a path, such as https://assay.example.org."
        )
    return value


def host_of(url: str) -> str:
    """The host of an origin as `ALLOWED_HOSTS` has it: without the port, IPv6 in brackets."""
    return re.sub(r":\d+$", "", urlsplit(url).netloc.lower())


def proxies(name: str) -> Proxies:
    """The proxies in front of the site: their number, or their addresses and networks."""
    values = words(name, ["0"])
    if len(values) == 1 and values[0].isascii() and values[0].isdigit() and int(values[0]) <= MAX_PROXIES:
        return int(values[0])
    return networks(name, also=f"the number of proxies, at most {MAX_PROXIES}, or their ")


def networks(name: str, *, also: str = "") -> tuple[IPv4Network | IPv6Network, ...]:
    """Addresses and networks."""
    values = words(name)
    try:
        if any("." not in value and ":" not in value for value in values):
            raise ValueError(values)  # Python would read a number as an address
        return tuple(map(ip_network, values))
    except ValueError:
        raise ImproperlyConfigured(
            f"{name} is '{text(name)}'; use {also}addresses and networks, such as 10.0.0.0/8,192.0.2.7."
        ) from None


def mail(name: str) -> dict[str, Any]:
    """Django's settings of a mail server, from an address such as smtp+tls://user:password@host:587; empty if unset."""
    if not text(name):
        return {}
    scheme = text(name).partition("://")[0]
    try:
        url = urlsplit(text(name))
        port = url.port
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not a valid address: {error}.") from None
    if scheme not in MAIL or not url.hostname:
        raise ImproperlyConfigured(
            f"{name} begins with '{scheme[:20]}'; use smtp+tls://user:password@host:587."
        )
    usual, encryption = MAIL[scheme]
    return {
        "EMAIL_HOST": url.hostname,
        "EMAIL_PORT": port or usual,
        "EMAIL_HOST_USER": unquote(url.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(url.password or ""),
    } | ({encryption: True} if encryption else {})


def address(name: str) -> str:
    """The address of a service such as https://s3.example.org; empty if it is not set."""
    value = text(name)
    if value and not value.startswith(("http://", "https://")):
        raise ImproperlyConfigured(f"{name} is '{value}'; an address begins with https:// or http://.")
    return value


class Retention(NamedTuple):
    """The number of backups that are kept: the latest of so many days, weeks and months."""

    daily: int
    weekly: int
    monthly: int


def retention(name: str, default: str) -> Retention:
    """Three numbers of backups, such as 7,4,12."""
    values = words(name, default.split(","))
    if len(values) != 3 or not all(value.isascii() and value.isdigit() for value in values):
        raise ImproperlyConfigured(
            f"{name} is '{text(name)}'; use three numbers of days, weeks and months: 7,4,12."
        )
    return Retention(*map(int, values))


def hour(name: str, default: str) -> time:
    """A time of day such as 03:00."""
    try:
        return time.fromisoformat(text(name, default))
    except ValueError:
        raise ImproperlyConfigured(f"{name} is '{text(name)}'; use a time of day such as 03:00.") from None


def backup_folder(name: str) -> str:
    """A folder, or s3://BUCKET/PREFIX of the S3-compatible service."""
    value = text(name)
    if value.startswith("s3:"):
        if not BUCKET_FOLDER.fullmatch(value):
            raise ImproperlyConfigured(f"{name} is '{value}'; use a folder, or s3://BUCKET/PREFIX.")
        require_packages(name, "boto3", "storages", file="requirements-s3.txt")
    return value


def recipients(name: str) -> list[str]:
    """The public keys of age for which something is encrypted."""
    values = words(name)
    if not values:
        return []
    require_packages(name, "pyrage", file="requirements-backups.txt")
    import pyrage  # noqa: PLC0415  # only for a site that encrypts

    for value in values:
        try:
            pyrage.x25519.Recipient.from_str(value)
        except pyrage.RecipientError:
            raise ImproperlyConfigured(
                f"{name} contains '{value[:20]}'; use public keys that age-keygen prints, such as age1…, "
                "and keep the secret key elsewhere."
            ) from None
    return values


def token(name: str) -> str:
    """A secret that a program sends; empty if it is not set."""
    value = text(name)
    if value and len(value) < TOKEN_LENGTH:
        raise ImproperlyConfigured(f"{name} has {len(value)} characters; use at least {TOKEN_LENGTH}.")
    return value


def encrypted(name: str, default: str = "") -> str:
    """The address of a service that passwords or tokens are sent to: https, unless it is on this machine."""
    value = (address(name) or default).rstrip("/")
    if value.startswith("http://") and urlsplit(value).hostname not in LOCAL:
        raise ImproperlyConfigured(f"{name} is '{value}'; use an address that begins with https://.")
    return value


def required(name: str, reason: str) -> str:
    value = text(name)
    if not value:
        raise ImproperlyConfigured(f"{name} is not set; {reason} needs it.")
    return value


def providers(name: str, *, by_email: str) -> list[dict[str, Any]]:
    """The services through which people log in, as django-allauth takes them: those named, then ORCID.

    Args:
        by_email: the variable that names those whose verified e-mail addresses find an account.
    """
    values, trusted, services = words(name), words(by_email), []
    for value in values:
        if not PROVIDER.fullmatch(value) or value.startswith("orcid") or values.count(value) > 1:
            raise ImproperlyConfigured(
                f"{name} contains '{value}'; use different short names of small letters, digits and hyphens. "
                "For ORCID, set ORCID_CLIENT_ID instead."
            )
    for value in values:
        prefix = f"SIGN_IN_{value.upper().replace('-', '_')}"
        required(f"{prefix}_SERVER", name)
        service = {
            "provider_id": value,
            "name": text(f"{prefix}_NAME", value.replace("-", " ").capitalize()),
            "client_id": required(f"{prefix}_CLIENT_ID", name),
            "secret": required(f"{prefix}_CLIENT_SECRET", name),
            "settings": {
                "server_url": encrypted(f"{prefix}_SERVER"),
                "oauth_pkce_enabled": True,
                "matches_email": value in trusted,
            },
        }
        services.append(service)
    if unknown := sorted(set(trusted) - set(values)):
        raise ImproperlyConfigured(f"{by_email} contains '{unknown[0]}', which {name} does not.")
    return services + ([_orcid()] if text("ORCID_CLIENT_ID") else [])


def _orcid() -> dict[str, Any]:
    """ORCID, which gives no e-mail address. iDs of its sandbox are not those of people, so they are kept apart."""
    server = encrypted("ORCID_SERVER", ORCID)
    return {
        "provider_id": "orcid" if server == ORCID else "orcid-sandbox",
        "name": "ORCID" if server == ORCID else "the sandbox of ORCID",
        "client_id": text("ORCID_CLIENT_ID"),
        "secret": required("ORCID_CLIENT_SECRET", "ORCID_CLIENT_ID"),
        "settings": {"server_url": server, "oauth_pkce_enabled": True, "scope": ["openid"]},
    }


def new_accounts(name: str) -> list[str]:
    """The people who get an account at their first login through a service: nobody, anyone, or e-mail domains."""
    values = [value.lower() for value in words(name, ["nobody"])]
    if values not in (["nobody"], ["anyone"]) and not all(DOMAIN.fullmatch(value) for value in values):
        raise ImproperlyConfigured(
            f"{name} is '{text(name)}'; use nobody, anyone, or domains such as example.org,example.edu."
        )
    return values


def patterns(name: str) -> list[str]:
    """Ids such as `vaswani`, or `beir/*` for all that begin so."""
    for word in words(name):
        if not PATTERN.fullmatch(word):
            raise ImproperlyConfigured(
                f"{name} has '{word}'; use ids such as vaswani, beir/* for all that begin so, or * for all."
            )
    return words(name)


def require_packages(name: str, *packages: str, file: str) -> None:
    """Refuse a setting that needs Python packages which are not installed."""
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise ImproperlyConfigured(
            f"{name} is set, but it needs {' and '.join(missing)}; run `pip install -r {file}`."
        )


def database(name: str, default: str, *, password: str = "") -> dict[str, Any]:
    """A PostgreSQL address, whose password may come separately. Error messages do not repeat it."""
    url = text(name, default)
    scheme = url.partition("://")[0]
    if scheme not in POSTGRES:
        raise ImproperlyConfigured(
            f"{name} begins with '{scheme[:20]}'; use postgresql://user:password@host:5432/database."
        )
    try:
        config = dict(environ.Env.db_url_config(url))
    except ValueError as error:
        raise ImproperlyConfigured(f"{name} is not a valid address: {error}.") from error
    return config | ({"PASSWORD": password} if password else {})


def broker(name: str, default: str, *, password: str = "") -> str:
    """The address of a Redis, whose password may come separately, or of the folder of a queue."""
    url = text(name, default)
    scheme = url.partition("://")[0]
    if scheme not in BROKERS:
        raise ImproperlyConfigured(f"{name} begins with '{scheme[:20]}'; use redis://host:6379/0.")
    if scheme != "filesystem":
        try:  # makes no connection yet
            ConnectionPool.from_url(redis_address(url)).make_connection()
        except (TypeError, ValueError) as error:
            raise ImproperlyConfigured(
                f"{name} is not a valid address: {error}; use redis://host:6379/0."
            ) from None
    parts = urlsplit(url)
    if not password or scheme == "filesystem" or "@" in parts.netloc:
        return url
    return parts._replace(netloc=f":{quote(password, safe='')}@{parts.netloc}").geturl()


def redis_address(broker_url: str) -> str:
    """The address as the redis package has it: Celery calls a Unix socket `redis+socket:`."""
    return broker_url.replace("redis+socket:", "unix:", 1)


def cache(broker_url: str, folder: Path) -> dict[str, Any]:
    """A cache in the Redis of the queue. Where the queue is a folder, there is one machine, and a folder serves too."""
    if broker_url.startswith("filesystem:"):
        return {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": str(folder)}
    options = {"socket_timeout": 1, "socket_connect_timeout": 1}  # seconds
    location = redis_address(broker_url)
    return {"BACKEND": "web.caches.ForgivingRedisCache", "LOCATION": location, "OPTIONS": options}


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


def queue_folders(folder: Path) -> dict[str, str | float]:
    """The folders of Celery's queue without a broker. Its transport expects them to exist."""
    messages, control = folder / "messages", folder / "control"
    for directory in (messages, control):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {"data_folder_in": str(messages), "data_folder_out": str(messages), "control_folder": str(control)}
