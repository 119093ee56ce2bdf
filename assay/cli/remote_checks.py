"""`assay check --track`: a site checks runs as it would check submissions, and stores nothing."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.commands.submit import fields_of, upload
from assay.cli.site import client, connect, print_refusal, track_of
from assay.formats.reports import Report, print_report

if TYPE_CHECKING:  # needs httpx, which is optional
    from assay.client.server import Server


def reports(arguments: argparse.Namespace) -> Iterator[Report | None]:
    """The report on each run; None if the site would refuse it for a reason that is not in the file.

    Raises
    ------
    ServerError
        The site lets the user check nothing, or cannot be reached.
    """
    with connect(arguments) as server:
        fields = fields_of(arguments, track_of(server, arguments.track))
        for path in arguments.runs:
            report = _report(server, arguments, path, fields)
            if report is not None and arguments.format == "text":
                print_report(report, str(path))
            yield report


def _report(
    server: "Server", arguments: argparse.Namespace, path: Path, fields: dict[str, str]
) -> Report | None:
    address = f"tracks/{arguments.track}/runs/check/"
    module = client()
    try:
        content, _ = upload(server, address, path, fields, key="", is_quiet=False)
    except module.ServerError as error:
        if error.exit_status != module.REFUSED:
            raise
        print_refusal(path, error, is_json=arguments.format == "json")
        return None
    return Report.from_json({name: value for name, value in content.items() if name != "is_acceptable"})
