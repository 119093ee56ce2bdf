"""The tokens of sites: in the keyring of the operating system, or in a file that only its owner can read."""

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from assay.errors import InputError

SERVICE = "assay"  # under which the keyring has the tokens
OTHERS = stat.S_IRWXG | stat.S_IRWXO
PRIVATE = stat.S_IRUSR | stat.S_IWUSR


class Login(NamedTuple):
    """A site and its token; empty if there is none."""

    server: str
    token: str


class _Entry(NamedTuple):
    """A site in the file. Without a token, the keyring has it."""

    token: str = ""


def file_path() -> Path:
    """The file of the sites: `$XDG_CONFIG_HOME/assay/servers.json`, by default below `~/.config`."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "assay" / "servers.json"


def stored(server: str = "") -> Login | None:
    """The login at a site, by default at that of the latest one. None if there is none.

    Raises
    ------
    InputError
        Others can read the file, or it is damaged.
    """
    latest, entries = _read()
    server = server.rstrip("/") or latest
    if server not in entries:
        return None
    return Login(server, entries[server].token or _keyring_token(server))


def store(server: str, token: str, *, in_file: bool = False) -> str:
    """Store a token, and return where: the keyring if the library `keyring` is installed and works, else the file.

    Raises
    ------
    InputError
        As `stored`.
    """
    server = server.rstrip("/")
    _, entries = _read()
    in_keyring = not in_file and _keep_in_keyring(server, token)
    entries[server] = _Entry("" if in_keyring else token)
    _write(server, entries)
    return "the keyring" if in_keyring else str(file_path())


def forget(server: str = "") -> str:
    """Remove the token of a site, by default that of the latest login; returns the site.

    Raises
    ------
    InputError
        There is no token for it, or as `stored`.
    """
    latest, entries = _read()
    server = server.rstrip("/") or latest
    if entries.pop(server, None) is None:
        raise InputError(f"there is no login at {server or 'any site'} to forget")
    keyring = _keyring()
    if keyring is not None:
        with suppress(keyring.errors.KeyringError):
            keyring.delete_password(SERVICE, server)
    _write(next(iter(entries), "") if server == latest else latest, entries)
    return server


def _keyring() -> Any:
    """The library, if it is installed."""
    try:
        return import_module("keyring")
    except ModuleNotFoundError:
        return None


def _keep_in_keyring(server: str, token: str) -> bool:
    """Store a token in the keyring; False if there is none."""
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, server, token)
    except keyring.errors.KeyringError:
        return False
    return True


def _keyring_token(server: str) -> str:
    keyring = _keyring()
    if keyring is None:
        raise InputError(
            f"the token of {server} is in the keyring, and the library keyring is not installed: pip install keyring"
        )
    try:
        return keyring.get_password(SERVICE, server) or ""
    except keyring.errors.KeyringError as error:
        raise InputError(f"the keyring does not open: {error}") from None


def _read() -> tuple[str, dict[str, _Entry]]:
    """The site of the latest login, and all sites."""
    path = file_path()
    try:
        with path.open("rb") as file:
            _check_private(path, os.fstat(file.fileno()))
            data = file.read()
    except FileNotFoundError:
        return "", {}
    try:
        content = json.loads(data)
        entries = {server: _Entry(entry["token"]) for server, entry in content["servers"].items()}
        return str(content["latest"]), entries
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is damaged: delete it, and log in again with assay login") from None


def _check_private(path: Path, status: os.stat_result) -> None:
    if os.name == "posix" and status.st_mode & OTHERS:
        mode = stat.S_IMODE(status.st_mode)
        raise InputError(
            f"{path} has mode {mode:o}, so others may read the tokens in it: run chmod 600 {path}, and revoke the "
            "tokens on the site if somebody else may have seen them"
        )


def _write(latest: str, entries: Mapping[str, _Entry]) -> None:
    """Replace the file. It is never readable for others, and never half written."""
    path = file_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = {"latest": latest, "servers": {server: entry._asdict() for server, entry in entries.items()}}
    new = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as file:
        json.dump(content, file, indent=1)
    new.replace(path)
