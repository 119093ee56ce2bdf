"""What the commands that talk to a site share: which site, with which token, and how its answers are printed."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Never

from tqdm import tqdm

from assay.client import credentials
from assay.errors import InputError

if TYPE_CHECKING:  # needs httpx, which is optional
    from assay.client.server import Server, ServerError

TOKEN, SERVER = "ASSAY_TOKEN", "ASSAY_SERVER"  # variables


def add_server(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server",
        metavar="URL",
        default="",
        help=f"address of the site (default: the variable {SERVER}, or the site of your latest login)",
    )


def add_track(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("track", metavar="TRACK", help="short name of the track, as in its address")


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print what the site answers, as JSON")


def client(module: str = "server") -> Any:
    """A module of the client.

    Raises
    ------
    InputError
        httpx is not installed.
    """
    try:
        return import_module(f"assay.client.{module}")
    except ModuleNotFoundError as error:
        raise InputError(f"this command needs {error.name}: pip install 'assay[client]'") from None


def connect(arguments: argparse.Namespace) -> "Server":
    """The site of `--server`, with the token of the variable or of the login. Without one, as a visitor.

    Raises
    ------
    InputError
        No site is named, or httpx is not installed.
    """
    module = client()
    url, token = arguments.server or os.environ.get(SERVER, ""), os.environ.get(TOKEN, "")
    login = None if token and url else credentials.stored(url)
    url, token = url or (login.server if login else ""), token or (login.token if login else "")
    if not url:
        raise InputError(f"name a site: log in with assay login, set the variable {SERVER}, or give --server")
    server: Server = module.Server(url, token)
    return server


def track_of(server: "Server", slug: str) -> Any:
    """A track of the site.

    Raises
    ------
    ServerError
        It does not exist; the message names those that do.
    """
    module = client()
    try:
        return server.get(f"tracks/{slug}/")
    except module.ServerError as error:
        if error.status != 404:
            raise
        slugs = ", ".join(track["slug"] for track in server.rows("tracks/")) or "none"
        raise module.ServerError(
            f"there is no track {slug} at {server.url} that you may see; there are: {slugs}", status=404
        ) from None


def print_json(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=1))  # noqa: T201


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print columns separated by tabs, as all commands do."""
    for row in (header, *rows):
        print("\t".join("" if cell is None else one_line(str(cell)) for cell in row))  # noqa: T201


@contextmanager
def progress_bar(name: str, total: int | None, *, is_quiet: bool) -> Iterator[Callable[[int], None]]:
    """A bar of bytes, and what sets it to a number of bytes."""
    hidden = is_quiet or None  # None: on a terminal only
    with tqdm(desc=name, total=total, unit="B", unit_scale=True, disable=hidden, leave=False) as bar:

        def show(n: int) -> None:
            bar.update(n - bar.n)

        yield show


def one_line(text: str) -> str:
    return " ".join(text.split())


def print_refusal(path: object, error: "ServerError", *, is_json: bool) -> None:
    """Print why a file was refused, with its lines, in the form of a report. Next to JSON, on standard error."""
    lines = [f"{path}: refused: {error}"]
    for each in error.errors:
        lines.append(f"  error: {_where(each)}{each['message']}")
        if each.get("accepted"):
            lines.append(f"      accepted: {each['accepted']}")
    print("\n".join(lines), file=sys.stderr if is_json else sys.stdout)


def _where(error: Mapping[str, Any]) -> str:
    n, line, field = error.get("n", 1), error.get("line"), error.get("field")
    if line:
        return f"line {line}{f' and {n - 1:,} more' if n > 1 else ''}: "
    return f"{field}: " if field else ""


def fail(message: str) -> Never:
    """End a command because of something on the site.

    Raises
    ------
    ServerError
    """
    raise client().ServerError(message, status=409)
