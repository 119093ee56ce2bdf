"""Shared parts of the commands that talk to a site: the site, the token, uploads, and printed answers."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from assay.cli.main import SERVER, TOKEN, progress_bar
from assay.client import credentials
from assay.client.files import Sent
from assay.client.server import Server, ServerError, require_httpx
from assay.errors import InputError
from assay.formats.declaration import STATEMENTS


def connect(arguments: argparse.Namespace) -> Server:
    """The site of `--server`, with the token of the variable or of the login. Without one, as a visitor.

    Raises:
        InputError: No site is named, or httpx is not installed.
    """
    require_httpx("this command")
    url, token = arguments.server or os.environ.get(SERVER, ""), os.environ.get(TOKEN, "")
    login = None if token and url else credentials.stored(url)
    url, token = url or (login.server if login else ""), token or (login.token if login else "")
    if not url:
        raise InputError(f"name a site: log in with assay login, set the variable {SERVER}, or give --server")
    return Server(url, token)


def track_of(server: Server, slug: str) -> Any:
    """A track of the site.

    Raises:
        ServerError: It does not exist; the message names those that do.
    """
    try:
        return server.get(f"tracks/{slug}/")
    except ServerError as error:
        if error.status != 404:
            raise
        slugs = ", ".join(track["slug"] for track in server.rows("tracks/")) or "none"
        raise ServerError(
            f"there is no track {slug} at {server.url} that you may see; there are: {slugs}", status=404
        ) from None


def rows_of_track(arguments: argparse.Namespace, noun: str) -> list[Any]:
    """All rows of a list of the track that the arguments name."""
    with connect(arguments) as server:
        track_of(server, arguments.track)
        return list(server.rows(f"tracks/{arguments.track}/{noun}/"))


def declared(arguments: argparse.Namespace, track: Any) -> dict[str, str]:
    """Return what is declared about runs, for the form of the site.

    Raises:
        InputError: No kind is given, and the track accepts several or none.
    """
    fields = {name: getattr(arguments, name, "") for name in ("team", *STATEMENTS)}
    accepting = [kind["kind"] for kind in track["kinds"] if kind["is_accepting"]]
    if not fields["kind"]:
        if len(accepting) > 1:
            raise InputError(f"give --kind: {track['slug']} accepts {', '.join(accepting)}")
        if not accepting:
            reasons = {kind["reason"] for kind in track["kinds"]} or {f"it is {track['status']}"}
            raise InputError(f"{track['slug']} accepts no runs now: {'; '.join(sorted(reasons))}")
        [fields["kind"]] = accepting
    return {name: "true" if stated is True else stated for name, stated in fields.items() if stated}


def upload(
    server: Server,
    address: str,
    path: Path,
    fields: dict[str, str],
    *,
    key: str,
    is_quiet: bool,
    others: Mapping[str, Path] | None = None,
) -> tuple[Any, bool]:
    """The answer to a run file, and whether it is that to an earlier request.

    `others` are further files by their names in the form.
    """
    with path.open("rb") as file, progress_bar(path.name, path.stat().st_size, is_quiet=is_quiet) as show:
        files: dict[str, tuple[str, Any]] = {"file": (path.name, Sent(file, show))}
        files |= {name: (other.name, other.read_bytes()) for name, other in (others or {}).items()}
        return server.upload(address, fields, files, key=key)


def print_json(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=1))  # noqa: T201


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns separated by tabs, each cell on one line, as all commands do."""
    for row in (header, *rows):
        print("\t".join("" if cell is None else " ".join(str(cell).split()) for cell in row))  # noqa: T201


def print_refusal(path: object, error: ServerError, *, is_json: bool) -> None:
    """Print why a file was refused, with its lines, in the form of a report. Next to JSON, on standard error."""
    first = str(error).partition("\n")[0]  # the others are those of the errors
    lines = [f"{path}: refused: {first}"]
    for problem in error.errors:
        n, field = problem.get("n", 1), problem.get("field")
        where = f"{field}: " if field else ""
        if line := problem.get("line"):
            where = f"line {line}{f' and {n - 1:,} more' if n > 1 else ''}: "
        lines.append(f"  error: {where}{problem['message']}")
        if problem.get("accepted"):
            lines.append(f"      accepted: {problem['accepted']}")
    print("\n".join(lines), file=sys.stderr if is_json else sys.stdout)
