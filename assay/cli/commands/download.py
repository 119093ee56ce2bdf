"""Download what a track of a site has released to you: topics, sample run, collection, qrels, leaderboard.

Name files or kinds, such as topics or qrels; without a name, everything is downloaded. A file gets its name when it is
complete and its SHA-256 is right. Repeat the command to go on after an interruption: it downloads what is missing.

Exit status: 0 success, 1 the site refuses a file, or a file of the folder has another content, 2 a name or an option is
wrong, 3 you may not download it or are not logged in, 4 the site cannot be reached.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assay.cli.main import add, progress_bar
from assay.cli.site import connect, print_table, track_of
from assay.client.files import check_name, digest_of, fetch, has_content
from assay.client.server import Server, ServerError
from assay.errors import InputError, plural

EXAMPLE = "assay download arqmath-2020 topics qrels --to data"


class Item(NamedTuple):
    """A file of the site, or a link elsewhere. Not every file has a size and a digest before it is made."""

    kind: str
    name: str
    n_bytes: int | None
    sha256: str
    url: str
    is_link: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "track")
    parser.add_argument("names", nargs="*", metavar="NAME", help="name or kind of files (default: all)")
    add(parser, "--server")
    parser.add_argument(
        "--to", type=Path, default=Path(), metavar="DIR", help="folder of the files (default: this folder)"
    )
    parser.add_argument("--list", action="store_true", help="list the files, and download none")
    parser.add_argument("--overwrite", action="store_true", help="replace files that have another content")
    add(parser, "--quiet")


def run(arguments: argparse.Namespace) -> int:
    with connect(arguments) as server:
        track_of(server, arguments.track)
        items = list(_items(server, arguments.track))
        known = {word for item in items for word in (item.kind, item.name)}
        names = set(arguments.names)
        if unknown := [name for name in arguments.names if name not in known]:
            accepted = ", ".join(sorted({item.kind for item in items})) or "nothing yet"
            raise InputError(f"nothing that you may download is called {unknown[0]}; kinds: {accepted}")
        items = [item for item in items if not names or {item.kind, item.name} & names]
        if arguments.list:
            print_table(
                ("kind", "name", "bytes", "sha256"),
                (
                    (item.kind, item.url if item.is_link else item.name, item.n_bytes, item.sha256)
                    for item in items
                ),
            )
            return 0
        arguments.to.mkdir(parents=True, exist_ok=True)
        for item in items:
            _download(server, item, arguments)
    return 0


def _items(server: Server, slug: str) -> Iterator[Item]:
    """Yield the files that the track offers, its qrels and its leaderboards."""
    for download in server.get(f"tracks/{slug}/downloads/")["results"]:
        is_link = download["url"].partition("://")[1] != ""
        yield Item(
            download["kind"],
            download["file_name"],
            download["n_bytes"],
            download["sha256"],
            download["url"],
            is_link,
        )
    for qrels in server.rows(f"tracks/{slug}/qrels/"):
        machine = ".machine" if qrels["machine"] else ""
        name = f"qrels.{slug}.v{qrels['version']}{machine}.tsv"
        yield Item("qrels", name, None, qrels["sha256"], f"{qrels['url']}file/")
    for board in server.rows(f"tracks/{slug}/leaderboards/"):
        if board["status"] == "ready":
            name = f"{slug}-leaderboard-{board['id']}.tsv"
            yield Item("leaderboard", name, None, "", f"{board['url']}file/")


def _download(server: Server, item: Item, arguments: argparse.Namespace) -> None:
    if item.is_link:
        print(f"{item.name}: elsewhere, at {item.url}")  # noqa: T201
        return
    target = arguments.to / check_name(item.name)
    sha256 = item.sha256 or digest_of(server, item.url)
    if has_content(target, sha256):
        print(f"{target}: is here already")  # noqa: T201
        return
    if target.exists() and not arguments.overwrite:
        raise ServerError(
            f"{target} exists with another content; give --overwrite, or another folder with --to", status=409
        )
    with progress_bar(item.name, item.n_bytes, is_quiet=arguments.quiet) as show:
        fetch(server, item.url, target, sha256=sha256, progress=show)
    print(f"{target}: {plural(target.stat().st_size, 'byte')}, sha256 {sha256}")  # noqa: T201
