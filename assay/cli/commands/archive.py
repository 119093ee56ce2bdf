"""Check the archive of a track, or deposit it where it gets a DOI."""

import argparse
import os
import sys
from getpass import getpass
from pathlib import Path

from tqdm import tqdm

from assay.archive.contents import Reader
from assay.archive.deposit import API, Draft, Service, metadata_of
from assay.archive.verify import verify
from assay.cli.main import add, add_actions, positive, progress_bar
from assay.client.server import Server, require_httpx
from assay.errors import InputError

EXAMPLE = "assay archive verify campaign.zip"
ZENODO = "https://zenodo.org"
TOKEN = "ASSAY_DEPOSIT_TOKEN"  # a variable  # noqa: S105

VERIFY = """Check an archive: its files, and whether its pools and scores can be computed again.

Exit status: 0 everything is right, 1 something differs, 2 the file cannot be read.
"""
RESERVE = f"""Reserve a DOI: make a draft at Zenodo or at a service with the same API.

Give the DOI to the form that makes the archive, and deposit the archive with --draft. So the archive names its
own DOI. The token of the service is read from the variable {TOKEN}, or asked for.

Exit status: 0 reserved, 1 the service refuses, 2 an option cannot be used, 3 it does not accept the token, 4 it cannot
be reached.
"""
DEPOSIT = f"""Store an archive at Zenodo or at a service with the same API.

The archive is checked first. It becomes the only file of a draft, which only you see; look at it, and publish it on its
page or with --publish. What is published has its DOI and cannot be taken back. The token of the service is read from
the variable {TOKEN}, or asked for. If the command is interrupted, repeat it with --draft.

Exit status: 0 stored, 1 the archive is wrong or the service refuses, 2 the file or an option cannot be used, 3 the
service does not accept the token, 4 it cannot be reached.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    _add_file(actions.add_parser("verify", help="check an archive", description=VERIFY))
    reserve = actions.add_parser("reserve", help="reserve a DOI for an archive", description=RESERVE)
    deposit = actions.add_parser("deposit", help="deposit an archive", description=DEPOSIT)
    _add_file(deposit)
    for action in (reserve, deposit):
        action.add_argument(
            "--to", metavar="URL", default=ZENODO, help=f"address of the service (default: {ZENODO})"
        )
        which = action.add_mutually_exclusive_group()
        if action is deposit:
            which.add_argument(
                "--draft", type=positive, metavar="N", help="number of a draft of yours, instead of a new one"
            )
        which.add_argument(
            "--new-version-of", type=positive, metavar="N", help="number of a published deposit of yours"
        )
    deposit.add_argument(
        "--license", default="", metavar="ID", help="its identifier (default: the license of the archive)"
    )
    deposit.add_argument(
        "--community", action="append", default=[], metavar="ID", help="community to ask; repeat it for more"
    )
    deposit.add_argument("--publish", action="store_true", help="publish it at once, which cannot be undone")


def _add_file(action: argparse.ArgumentParser) -> None:
    action.add_argument("file", type=Path, help="archive that the site made for a track")
    add(action, "--quiet")


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "verify":
        with Reader.of(arguments.file) as reader:
            return 1 if _n_wrong(reader, arguments) else 0
    return {"reserve": _reserve, "deposit": _deposit}[arguments.action](arguments)


def _n_wrong(reader: Reader, arguments: argparse.Namespace) -> int:
    """The number of wrong parts. Each part is printed."""
    n_wrong = 0
    with tqdm(
        desc="reading",
        total=reader.n_bytes,
        unit="B",
        unit_scale=True,
        disable=arguments.quiet or None,
        leave=False,
    ) as bar:
        for finding in verify(reader, advance=bar.update):
            n_wrong += not finding.is_right
            state = "right" if finding.is_right else "WRONG"
            text = f"{state}  {finding.part}: {finding.content}"
            tqdm.write(text if finding.is_right else f"{text}; {finding.problem}")
    summary = "everything is right" if not n_wrong else f"{n_wrong} of its parts are wrong"
    tqdm.write(f"{arguments.file.name}: {reader.index.track.name}, {summary}")
    return n_wrong


def _reserve(arguments: argparse.Namespace) -> int:
    with _server(arguments.to) as server:
        draft = _draft(Service(server), arguments)
    print(f"{draft.doi} is reserved, in draft {draft.number}: {draft.page}")  # noqa: T201
    print(f"Give it to the archive as its DOI, and deposit the archive with --draft {draft.number}.")  # noqa: T201
    return 0


def _deposit(arguments: argparse.Namespace) -> int:
    with Reader.of(arguments.file) as reader:
        index = reader.index
        metadata = metadata_of(index, license=arguments.license, communities=arguments.community)
        if _n_wrong(reader, arguments):
            return 1
    with _server(arguments.to) as server:
        service = Service(server)
        draft = _draft(service, arguments)
        if index.doi not in ("", draft.doi):
            raise InputError(
                f"the archive names the DOI {index.doi}, and draft {draft.number} has {draft.doi}: give --draft with "
                "the number that came with that DOI"
            )
        print(f"Draft {draft.number}: {draft.page}")  # noqa: T201
        size = arguments.file.stat().st_size
        with progress_bar(arguments.file.name, size, is_quiet=arguments.quiet) as show:
            service.fill(draft, arguments.file, metadata, show)
        print(f"{arguments.file.name}: {size:,} bytes are stored, with the DOI {draft.doi} reserved.")  # noqa: T201
        if arguments.publish:
            draft = service.publish(draft)
            print(f"Published: https://doi.org/{draft.doi}, {draft.page}")  # noqa: T201
        else:
            print("Look at the draft, and publish it there.")  # noqa: T201
    return 0


def _draft(service: Service, arguments: argparse.Namespace) -> Draft:
    if arguments.new_version_of:
        return service.new_version(arguments.new_version_of)
    number = getattr(arguments, "draft", None)
    return service.opened(number) if number else service.reserve()


def _server(url: str) -> Server:
    """The service, with the token of its user.

    Raises:
        InputError: The address or the token cannot be used, or httpx is not installed.
    """
    require_httpx("this command")
    if not url.startswith(("https://", "http://")):
        raise InputError(f"{url} is not the address of a service; it begins with https://")
    token = os.environ.get(TOKEN, "") or (getpass(f"Token of {url}: ") if sys.stdin.isatty() else "")
    if not (token and token.isascii() and token.isprintable()):
        raise InputError(
            f"give the token of {url} in the variable {TOKEN}; it needs to write and publish deposits"
        )
    return Server(url, token, api=API)
