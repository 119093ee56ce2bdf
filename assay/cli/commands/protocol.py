"""List the protocols that ship with Assay, show one in words or as TOML, print the guidelines about its runs for
participants and their programs, check a protocol file of your own, or print the JSON Schema of protocol files, for
editors.

Exit status: 0 success, 2 a protocol does not exist or has errors.
"""

import argparse
import json

from assay.cli.main import add_actions, print_error
from assay.errors import InputError
from assay.protocols.description import facts
from assay.protocols.loader import MOST, load_protocol, shipped_slugs
from assay.protocols.schema import Protocol
from assay.structure import json_schema

EXAMPLE = "assay protocol show arqmath-2020-task1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    actions.add_parser(
        "list", help="print the slug and the title of each shipped protocol", example="assay protocol list"
    )
    show = actions.add_parser("show", help="describe a protocol in words", example=EXAMPLE)
    show.add_argument("protocol", metavar="P", help="slug of a shipped protocol, or path of a .toml file")
    show.add_argument("--toml", action="store_true", help="print the TOML file itself")
    runs = actions.add_parser(
        "runs",
        help="print how runs are written: the rules, an example and, of JSON, the schema",
        example="assay protocol runs trec-rag-2026",
    )
    runs.add_argument("protocol", metavar="P", help="slug of a shipped protocol, or path of a .toml file")
    runs.add_argument("--schema", action="store_true", help="print only the JSON Schema of a line")
    check = actions.add_parser(
        "check",
        help="check protocol files and name what is wrong",
        example="assay protocol check protocol.toml",
    )
    check.add_argument("files", nargs="+", metavar="FILE", help="a .toml file")
    actions.add_parser(
        "schema", help="print the JSON Schema of protocol files", example="assay protocol schema"
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.action == "check":
        status = 0
        for file in arguments.files:
            try:
                protocol = load_protocol(file)
            except (InputError, OSError) as error:
                print_error("assay protocol check", error)
                status = 2
            else:
                print(f"{file}: no errors ({protocol.title})")  # noqa: T201
        return status
    if arguments.action == "list":
        width = max(map(len, shipped_slugs()))
        text = "".join(f"{slug:<{width}}  {load_protocol(slug).title}\n" for slug in shipped_slugs())
    elif arguments.action == "schema":
        text = json.dumps(json_schema(Protocol, most=MOST), ensure_ascii=False, indent=1) + "\n"
    elif arguments.action == "runs":
        text = _runs(load_protocol(arguments.protocol), is_schema=arguments.schema)
    else:
        protocol = load_protocol(arguments.protocol)
        text = f"{protocol.title}\n\n" + "".join(
            f"{name}: {rule}\n".replace(";\n", "; ") for name, rule in facts(protocol)
        )
    print(protocol.text if arguments.action == "show" and arguments.toml else text, end="")  # noqa: T201
    return 0


def _runs(protocol: Protocol, *, is_schema: bool) -> str:
    """The guidelines about runs, or the schema of a line.

    Raises:
        InputError: The protocol takes no runs, or they are not JSON.
    """
    from assay.formats.runs.guide import guide, run_schema  # noqa: PLC0415 -- imports numpy, which others do not need

    if not protocol.takes_runs:
        raise InputError(f"{protocol.slug} takes no runs")
    if not is_schema:
        return guide(protocol)
    schema = run_schema(protocol)
    if schema is None:
        raise InputError(f"--schema is for runs in JSON lines, which {protocol.slug} does not accept")
    return json.dumps(schema, ensure_ascii=False, indent=1) + "\n"
