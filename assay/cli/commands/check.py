"""Check run files like an upload, and list every distinct error with its lines.

With --protocol, the files are checked here. With --track and a name, a site checks them as it would a submission, also
against its collection, its deadlines and the other runs of your team, and stores nothing. With --track and the address
of a public track, the files are checked here, without a login, against the protocol and the topics of that track.

Exit status: 0 no errors (there may be warnings), 1 a run has errors or would be refused, 2 a file or an option cannot
be used; with --track also 3 you are not logged in or may not submit, 4 the site cannot be reached.
"""

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from assay.cli.main import add, add_format, input_path
from assay.cli.pooling import read_formulas, read_posts, read_protocol_and_topics
from assay.cli.site import connect, declared, print_json, print_refusal, track_of, upload
from assay.client.server import REFUSED, Server, ServerError, require_httpx
from assay.client.tracks import public_track, site_and_slug
from assay.errors import BadFile, InputError
from assay.formats.compression import Limits, read_file
from assay.formats.reports import Report, print_report
from assay.formats.runs.reader import check_run
from assay.formats.runs.rules import ABSENT, FIT, UnitLookup, characters_of, copies_narratives
from assay.formats.runs.timing import check_seconds
from assay.formats.text import lines_of, read_text
from assay.formats.topics.reader import read_labels, read_topics
from assay.html.sanitize import plain
from assay.protocols.schema import Protocol
from assay.research.pooling import formula_lookup

ON_FILES = ("protocol", "topics", "formulas", "seconds", "labels", "docnos", "docno_pattern", "repair")
OF_TRACK = ("protocol", "topics", "labels")  # what the address of a track gives
ON_SITE = ("server", "kind", "team")

EXAMPLE = "assay check --protocol arqmath-2020-task1 --topics topics.txt runs/abacus.tsv runs/baseline.tsv.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--protocol", required=False)
    add(parser, "--topics", "--formulas", "--posts")
    add(parser, "--seconds")
    parser.add_argument(
        "--labels",
        metavar="FILE",
        help="labels of topics, if the protocol has the limit of the characters of an answer in one of them",
    )
    parser.add_argument("--docnos", metavar="FILE", help="the ids that documents may have, one per line")
    parser.add_argument(
        "--docno-pattern",
        metavar="REGEX",
        help="a regular expression of Python that the ids of documents match as a whole",
    )
    parser.add_argument(
        "--repair", type=Path, metavar="DIR", help="write a repaired copy of each run that can be repaired"
    )
    parser.add_argument(
        "--track",
        metavar="TRACK",
        help="let a site check the runs for this track; or the address of a track, whose rules are fetched",
    )
    parser.add_argument(
        "--kind", default="", help="with --track, the kind of the runs (default: the only one)"
    )
    add(parser, "--server", "--team")
    add_format(parser, "text", "json")
    add(parser, "runs", type=input_path)


def run(arguments: argparse.Namespace) -> int:
    is_address = (arguments.track or "").startswith(("http://", "https://"))
    given = next((name for name in ON_FILES if getattr(arguments, name)), None)
    wrong = next((name for name in ON_SITE if getattr(arguments, name)), None)
    if is_address and (given := next((name for name in OF_TRACK if getattr(arguments, name)), None)):
        raise InputError(f"--{given} is for a check without a track; that of the address is used")
    if is_address and arguments.server:
        raise InputError("--server is for a track by its name; leave it out")
    if arguments.track and given and not is_address:
        raise InputError(
            f"--{given.replace('_', '-')} is for a check without a site; with --track, the site knows it"
        )
    if wrong and not arguments.track:
        raise InputError(f"--{wrong} is for a site; give --track too")
    if not arguments.track and not arguments.protocol:
        raise InputError("give --protocol or --track")
    if is_address:
        reports: Sequence[Report | None] = _checked(arguments, _from_address(arguments))
    elif arguments.track:
        reports = _on_site(arguments)
    else:
        reports = _checked(arguments, _from_files(arguments))
    if arguments.format == "json":
        print_json([report.as_json() for report in reports if report is not None])
    return 0 if all(report is not None and report.is_acceptable for report in reports) else 1


def _on_site(arguments: argparse.Namespace) -> list[Report | None]:
    """The report on each run; None if the site would refuse it for a reason that is not in the file."""
    reports: list[Report | None] = []
    address, is_json = f"tracks/{arguments.track}/runs/check/", arguments.format == "json"
    with connect(arguments) as server:
        fields = declared(arguments, track_of(server, arguments.track))
        for path in arguments.runs:
            try:
                content, _ = upload(server, address, path, fields, key="", is_quiet=False)
            except ServerError as error:
                if error.exit_status != REFUSED:
                    raise
                print_refusal(path, error, is_json=is_json)
                reports.append(None)
                continue
            del content["is_acceptable"]
            report = Report.from_json(content)
            reports.append(report)
            if not is_json:
                print_report(report, str(path))
    return reports


def _characters(arguments: argparse.Namespace, protocol: Protocol) -> dict[str, int]:
    """The characters that answers may have, by topic."""
    label = protocol.runs.answers.characters_label
    if arguments.labels is None:
        return {}
    if not label:
        raise InputError("--labels: the protocol has no runs.answers.characters_label")
    of_topics = read_labels(read_file(arguments.labels), arguments.labels)
    values = {topic: labels[label] for topic, labels in of_topics.items() if labels.get(label)}
    try:
        return characters_of(values)
    except InputError as error:
        raise InputError(f"{arguments.labels}: {label}: {error}") from None


def _narratives(arguments: argparse.Namespace, protocol: Protocol) -> dict[str, str]:
    """The text of each topic, if answers repeat it; empty if the file has only codes."""
    if not arguments.topics or not copies_narratives(protocol):
        return {}
    try:
        topics = read_topics(read_file(arguments.topics), arguments.topics.name, is_formula=False)
    except BadFile:  # a list of codes, which has been read
        return {}
    return {topic.code: plain(topic.title or topic.body or topic.narrative) for topic in topics}


def _documents(arguments: argparse.Namespace) -> UnitLookup | None:
    """The lookup of ids in the list of documents, or by their pattern; None without either."""
    if arguments.docnos and arguments.docno_pattern:
        raise InputError("give --docnos or --docno-pattern, not both")
    if arguments.docnos:
        lines = (line.strip().encode() for line in lines_of(read_text(arguments.docnos)))
        known = frozenset(filter(None, lines))
        return lambda docnos: np.array(
            [FIT if docno in known else ABSENT for docno in docnos.tolist()], np.uint8
        )
    if arguments.docno_pattern:
        try:
            pattern = re.compile(arguments.docno_pattern)
        except re.error as error:
            raise InputError(
                f"--docno-pattern: {arguments.docno_pattern!r} is not a regular expression: {error}"
            ) from None
        return lambda docnos: np.array(
            [FIT if pattern.fullmatch(docno.decode()) else ABSENT for docno in docnos.tolist()], np.uint8
        )
    return None


class _Rules(NamedTuple):
    """The facts that runs are checked against. Without `limits`, a file may be of any size."""

    protocol: Protocol
    topics: Sequence[str] | None
    characters: Mapping[str, int]
    narratives: Mapping[str, str]
    kind: str = ""
    team: str = ""
    limits: Limits | None = None


def _from_files(arguments: argparse.Namespace) -> _Rules:
    protocol, topics = read_protocol_and_topics(arguments)
    return _Rules(protocol, topics, _characters(arguments, protocol), _narratives(arguments, protocol))


def _from_address(arguments: argparse.Namespace) -> _Rules:
    """The rules of a public track, which its site gives to everybody."""
    require_httpx("assay check --track")
    site, slug = site_and_slug(arguments.track)
    with Server(site, "") as server:
        track = public_track(server, slug, arguments.kind)
    for sentence in track.unchecked:
        print(f"Not checked: {sentence}", file=sys.stderr)  # noqa: T201
    return _Rules(
        track.protocol, track.topics, track.characters, track.narratives, track.kind, arguments.team, Limits()
    )


def _checked(arguments: argparse.Namespace, rules: _Rules) -> list[Report]:
    if arguments.repair:
        arguments.repair.mkdir(parents=True, exist_ok=True)
    formulas = formula_lookup(read_formulas(arguments.formulas))
    posts, reports, units = read_posts(arguments.posts), list[Report](), _documents(arguments)
    for path in arguments.runs:
        checked = check_run(
            path,
            **rules._asdict(),
            units=units,
            formulas=formulas,
            posts=posts,
            name=path.name,
            is_named=True,
        )
        reports.append(checked.report)
        if arguments.format == "text":
            print_report(checked.report, str(path))
        if arguments.repair and (repaired := checked.repaired()) is not None:
            target = arguments.repair / re.sub(r"(\.gz|\.xz|\.bz2|\.zip)+$", "", path.name)
            with target.open("xb") as file:
                file.write(repaired)
            print(f"{path}: repaired into {target}", file=sys.stderr)  # noqa: T201
    if arguments.seconds:
        name = arguments.seconds.name
        reports.append(
            check_seconds(arguments.seconds, protocol=rules.protocol, topics=rules.topics, name=name)
        )
        if arguments.format == "text":
            print_report(reports[-1], str(arguments.seconds))
    return reports
