"""Submit runs to a track of a site.

The site checks each file before it stores it. A file with errors is refused, with its lines, and nothing of it is
stored; the other files are submitted. If the command is interrupted, repeat it: a file that is already there is not
submitted again. Without --kind, the runs are of the only kind that the track accepts. --tag, --replaces, --seconds and
--metadata are for a single run. --replaces withdraws an earlier run of the team and submits the new one in its place,
in one step: if the new one is refused, the earlier one stays. The models and answers of --metadata count where the
options state none.

Exit status: 0 all runs are submitted, 1 one was refused, 2 a file or an option cannot be used, 3 you may not submit or
are not logged in, 4 the site cannot be reached.
"""

import argparse
import json
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from assay.cli.main import add, input_path
from assay.cli.site import connect, declared, print_json, print_refusal, track_of, upload
from assay.client.server import REFUSED, Server, ServerError
from assay.digests import sha256_of_file
from assay.errors import InputError, plural
from assay.formats.declaration import add_statements

FILES = ("seconds", "metadata")  # that go with the run
EXAMPLE = "assay submit arqmath-2020 --kind primary --description 'BM25 over titles' runs/abacus.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "track")
    add(parser, "runs", type=input_path, help="run file: plain, gz, xz, bz2 or zip")
    add(parser, "--server", "--team")
    add_statements(parser)
    parser.add_argument(
        "--replaces", default="", metavar="TAG", help="tag of a submitted run of the team, which is withdrawn"
    )
    add(parser, "--seconds")
    parser.add_argument(
        "--metadata",
        type=Path,
        metavar="FILE",
        help="file of ir_metadata about a single run, such as its models",
    )
    parser.add_argument("--json", action="store_true", help="print the runs as the site answers, as JSON")
    add(parser, "--quiet")


def run(arguments: argparse.Namespace) -> int:
    single = next((name for name in ("tag", "replaces", *FILES) if getattr(arguments, name)), "")
    if single and len(arguments.runs) > 1:
        raise InputError(f"--{single} is for a single run; submit each run with its own")
    stored, is_refused = [], False
    with connect(arguments) as server:
        fields = declared(arguments, track_of(server, arguments.track))
        if arguments.replaces:
            fields["replaces"] = arguments.replaces
        for path in arguments.runs:
            try:
                stored_run, is_old = _submit(server, arguments, path, fields)
            except ServerError as error:
                if error.exit_status != REFUSED:
                    raise
                print_refusal(path, error, is_json=arguments.json)
                is_refused = True
            else:
                stored.append(stored_run)
                if arguments.json:
                    continue
                state = (
                    "was already submitted"
                    if is_old
                    else "submitted, late"
                    if stored_run["is_late"]
                    else "submitted"
                )
                name = f"run {stored_run['id']}, {stored_run['kind']} run {stored_run['tag']} of {stored_run['team']}"
                size = f"{plural(stored_run['n_lines'], 'line')}, {plural(stored_run['n_topics'], 'topic')}"
                print(f"{path}: {state} as {name} ({size})")  # noqa: T201
                print(f"  sha256 {stored_run['sha256']}; {server.url}/runs/{stored_run['id']}/")  # noqa: T201
    if arguments.json:
        print_json(stored)
    return int(is_refused)


def _submit(
    server: Server, arguments: argparse.Namespace, path: Path, fields: dict[str, str]
) -> tuple[Any, bool]:
    """The run, and whether an earlier command submitted it."""
    address = f"tracks/{arguments.track}/runs/"
    identity: list[object] = [server.url, address, fields]
    others = {name: getattr(arguments, name) for name in FILES if getattr(arguments, name) is not None}
    for name, submitted in {"file": path, **others}.items():
        with submitted.open("rb") as file:
            identity.append(f"{name} {submitted.name} {sha256_of_file(file)}")
    options = {"others": others, "is_quiet": arguments.quiet}
    key = str(uuid5(NAMESPACE_URL, json.dumps(identity, sort_keys=True)))
    stored_run, is_old = upload(server, address, path, fields, key=key, **options)
    if is_old and server.get(f"runs/{stored_run['id']}/")["status"] != "submitted":  # withdrawn since
        return upload(server, address, path, fields, key=str(uuid4()), **options)
    return stored_run, is_old
