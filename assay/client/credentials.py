"""The tokens of sites: in the keyring of the operating system, or in a file that only its owner can read.

All functions raise `InputError` if others can read the file, or if it is damaged.
"""

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
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


def file_path() -> Path:
    """The file of the sites: `$XDG_CONFIG_HOME/assay/servers.json`, by default below `~/.config`."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "assay" / "servers.json"


def stored(server: str = "") -> Login | None:
    """The login at a site, by default at that of the latest one. None if there is none.

    Raises:
        InputError: Others can read the file, or it is damaged.
    """
    latest, tokens = _read()
    server = server.rstrip("/") or latest
    if server not in tokens:
        return None
    if tokens[server]:
        return Login(server, tokens[server])
    keyring = _keyring()
    if keyring is None:
        raise InputError(
            f"the token of {server} is in the keyring, and the library keyring is not installed: pip install keyring"
        )
    try:
        return Login(server, keyring.get_password(SERVICE, server) or "")
    except keyring.errors.KeyringError as error:
        raise InputError(f"the keyring does not open: {error}") from None


def store(server: str, token: str, *, in_file: bool = False) -> str:
    """Store a token, and return where: the keyring if the library `keyring` is installed and works, else the file."""
    server = server.rstrip("/")
    _, tokens = _read()
    keyring, in_keyring = None if in_file else _keyring(), False
    if keyring is not None:
        with suppress(keyring.errors.KeyringError):
            keyring.set_password(SERVICE, server, token)
            in_keyring = True
    _write(server, tokens | {server: "" if in_keyring else token})
    return "the keyring" if in_keyring else str(file_path())


def forget(server: str = "") -> str:
    """Remove the token of a site, by default that of the latest login; returns the site.

    Raises:
        InputError: There is no token for it.
    """
    latest, tokens = _read()
    server = server.rstrip("/") or latest
    if tokens.pop(server, None) is None:
        raise InputError(f"there is no login at {server or 'any site'} to forget")
    keyring = _keyring()
    if keyring is not None:
        with suppress(keyring.errors.KeyringError):
            keyring.delete_password(SERVICE, server)
    _write(next(iter(tokens), "") if server == latest else latest, tokens)
    return server


def _keyring() -> Any:
    """The library, if it is installed."""
    try:
        import keyring  # noqa: PLC0415 -- optional
    except ModuleNotFoundError:
        return None
    return keyring


def _read() -> tuple[str, dict[str, str]]:
    """The site of the latest login, and the token of each site; empty if the keyring has it."""
    path = file_path()
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            data = file.read()
    except FileNotFoundError:
        return "", {}
    if os.name == "posix" and mode & OTHERS:
        raise InputError(
            f"{path} has mode {mode:o}, so others may read the tokens in it: run chmod 600 {path}, and revoke the "
            "tokens on the site if somebody else may have seen them"
        )
    try:
        content = json.loads(data)
        tokens = {server: entry["token"] for server, entry in content["servers"].items()}
        return str(content["latest"]), tokens
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is damaged: delete it, and log in again with assay login") from None


def _write(latest: str, tokens: Mapping[str, str]) -> None:
    """Replace the file. It is never readable for others, and never half written."""
    path = file_path()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    content = {"latest": latest, "servers": {server: {"token": token} for server, token in tokens.items()}}
    new = path.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE), "w") as file:
        json.dump(content, file, indent=1)
    new.replace(path)
