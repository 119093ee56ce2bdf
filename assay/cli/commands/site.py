"""Run an operation of a site: whatever an organizer, a participant or a visitor does on its pages, from a script.

The site itself says which operations it has and what they take. “assay site operations” lists them, with words those
that contain them, with the name of one all that it takes. A field is written KEY=VALUE, a list by repeating it, an
object as JSON. A value is checked before anything is sent, and what the network loses is sent again without doing
anything twice.

Exit status: 0 success, 1 the site refuses, or the job failed, 2 a field, a file or an option is wrong, 3 you may not do
this or are not logged in, 4 the site cannot be reached.
"""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from assay.cli.commands.watch import follow
from assay.cli.main import add, input_path, positive, progress_bar
from assay.cli.site import connect, print_refusal, print_table
from assay.client.files import Sent, save, write_whole
from assay.client.operations import Description, Field, Operation, Request
from assay.client.server import NOT_MODIFIED, UPLOAD_SECONDS, Server, ServerError
from assay.errors import InputError, plural
from assay.formats.text import read_text

EXAMPLE = "assay site request_pool slug=arqmath-2020 name=Pool seed=7 depth='{\"primary\": 45}' --wait"
OPERATIONS = "operations"
JOB = "jobs/"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("operation", metavar="OPERATION", help="name of an operation, or: operations")
    parser.add_argument(
        "fields",
        nargs="*",
        metavar="KEY=VALUE",
        help="field of the operation; after operations, words to search",
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="KEY=PATH",
        help="field from a file: the file itself, or its text if the field is not a file; repeat it for more",
    )
    parser.add_argument(
        "--fields",
        dest="object",
        type=input_path,
        metavar="FILE",
        help="fields as an object in a file; - for standard input",
    )
    add(parser, "--output", words=", complete or not at all")
    parser.add_argument(
        "--all", action="store_true", help="print the rows of all pages of a list, one JSON per line"
    )
    parser.add_argument("--wait", action="store_true", help="wait for the job that does the work")
    parser.add_argument(
        "--every", type=positive, default=2, metavar="SECONDS", help="time between two looks (default: 2)"
    )
    parser.add_argument(
        "--etag",
        type=Path,
        metavar="FILE",
        help="keep the version of what you read in FILE: a second read gets only a newer one, and a change is refused "
        "if somebody else was first",
    )
    add(parser, "--server", "--quiet")


def run(arguments: argparse.Namespace) -> int:
    with connect(arguments) as server:
        description = Description.of(server)
        if arguments.operation == OPERATIONS:
            _print_operations(description, arguments.fields)
            return 0
        operation = description.operation(arguments.operation)
        request = operation.request(_values(operation, arguments))
        try:
            return _run(server, operation, request, arguments)
        except ServerError as error:
            if not error.errors:
                raise
            print_refusal(operation.name, error, is_json=True)
            return error.exit_status


def _run(server: Server, operation: Operation, request: Request, arguments: argparse.Namespace) -> int:
    if operation.is_file:
        if arguments.etag is not None:
            raise InputError(
                f"--etag is for what is JSON; {operation.name} is a file, which its digest checks"
            )
        _download(server, request, arguments)
        return 0
    if arguments.all:
        if not operation.is_list:
            raise InputError(f"--all is for a list in pages; {operation.name} does not return one")
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in server.rows(request.path))
        if arguments.output is None:
            sys.stdout.writelines(lines)  # as the pages come
        else:
            _write("".join(lines), arguments.output)
        return 0
    response = _send(server, operation, request, arguments)
    if response.status_code == NOT_MODIFIED:
        print(f"assay site: {operation.name}: nothing changed since then", file=sys.stderr)  # noqa: T201
        return 0
    content, is_good = server.content(response), True
    job = response.headers.get("Location", "").partition(JOB)[2].strip("/")
    if arguments.wait and job.isdigit():
        shown = None if arguments.quiet else sys.stderr
        is_good = follow(server, JOB.strip("/"), int(job), every=arguments.every, file=shown)
        content = server.get(server.own((content or {}).get("url") or f"jobs/{job}/"))
    if content is not None:
        _write(json.dumps(content, ensure_ascii=False, indent=1) + "\n", arguments.output)
    return 0 if is_good else 1


def _values(operation: Operation, arguments: argparse.Namespace) -> dict[str, Any]:
    """The values of the fields, from a file of JSON, from files, and from the words, which replace others."""
    values: dict[str, Any] = {}
    if arguments.object is not None:
        try:
            content = json.loads(arguments.object.read_bytes())
        except ValueError as error:
            raise InputError(f"{arguments.object} is not JSON: {error}") from None
        if not isinstance(content, dict):
            raise InputError(f"{arguments.object} is not an object of fields")
        values |= content
    files: dict[str, list[str]] = {}
    for key, path in map(_pair, arguments.file):
        files.setdefault(key, []).append(path)
    for key, paths in files.items():
        if operation.field(key).is_file:
            values[key] = [Path(path) for path in paths]
        else:
            values[key] = operation.read(key, [read_text(str(input_path(path))) for path in paths])
    texts: dict[str, list[str]] = {}
    for key, text in map(_pair, arguments.fields):
        texts.setdefault(key, []).append(text)
    for key, written in texts.items():
        if operation.field(key).is_file:
            raise InputError(f"{operation.name}: {key} is a file; give --file {key}=PATH")
        values[key] = operation.read(key, written)
    return values


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"{text!r} is not KEY=VALUE")
    return key, value


def _send(server: Server, operation: Operation, request: Request, arguments: argparse.Namespace) -> Any:
    """The answer to an operation, with the version that `--etag` names, which is then kept."""
    headers = dict(request.headers)
    if operation.method == "POST":
        headers.setdefault("Idempotency-Key", str(uuid4()))
    elif arguments.etag is not None and arguments.etag.exists():
        name = "If-None-Match" if operation.method == "GET" else "If-Match"
        headers[name] = arguments.etag.read_text().strip()
    with ExitStack() as files:
        content = dict(_content(operation, request, files, is_quiet=arguments.quiet))
        response = server.send(operation.method, request.path, headers=headers, **content)
    if arguments.etag is not None and response.headers.get("ETag"):
        write_whole(arguments.etag, f"{response.headers['ETag']}\n".encode())
    return response


def _content(
    operation: Operation, request: Request, stack: ExitStack, *, is_quiet: bool
) -> Iterator[tuple[str, Any]]:
    """Yield the options of the request for its content: JSON, or a form whose files are read while they are sent."""
    fields = {field.name: field for field in operation.fields.values() if field.place == "content"}
    if not any(fields[name].is_file for name in request.content) and not operation.is_form:
        if request.content:
            yield "json", request.content
        return
    parts: list[tuple[str, tuple[str | None, Any]]] = []
    for name, value in request.content.items():
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Path):
                file = stack.enter_context(part.open("rb"))
                bar = progress_bar(part.name, part.stat().st_size, is_quiet=is_quiet)
                parts.append((name, (part.name, Sent(file, stack.enter_context(bar)))))
            else:
                parts.append((name, (None, part if isinstance(part, str) else json.dumps(part))))
    yield "files", parts
    yield "timeout", UPLOAD_SECONDS


def _download(server: Server, request: Request, arguments: argparse.Namespace) -> None:
    """Store the file of an answer, or print it after it came completely."""
    url = server.own(request.path)
    target = arguments.output
    with TemporaryDirectory() as folder:
        path = Path(folder, "file") if target is None else target
        with progress_bar(path.name, None, is_quiet=arguments.quiet) as show:
            sha256 = save(server, url, path, progress=show)
        if target is None:
            sys.stdout.flush()
            with path.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
        else:
            print(f"{target}: {plural(target.stat().st_size, 'byte')}, sha256 {sha256}")  # noqa: T201


def _write(text: str, target: Path | None) -> None:
    if target is None:
        print(text, end="")  # noqa: T201
    else:
        write_whole(target, text.encode())


def _print_operations(description: Description, words: list[str]) -> None:
    """Print what an operation takes and answers, or the operations that contain some words."""
    if len(words) == 1 and words[0] in description.operations:
        operation = description.operations[words[0]]
        text = operation.data.get("description", "")
        print(f"{operation.name}: {operation.summary}\n{operation.method} {operation.path}\n\n{text}\n")  # noqa: T201
        rows = [
            (key, "required" if field.is_required else "", _type(field), field.meaning)
            for key, field in operation.fields.items()
        ]
        if rows:
            print_table(("field", "", "type", "meaning"), rows)
        return
    operations = description.search(words)
    if not operations:
        raise InputError(f"no operation contains {' '.join(words)}")
    print_table(
        ("operation", "what it does"), ((operation.name, operation.summary) for operation in operations)
    )


def _type(field: Field) -> str:
    """The kind of a field's values, in words."""
    if field.is_file:
        return "file"
    if "enum" in field.schema:
        return " | ".join(str(choice) for choice in field.schema["enum"] if choice not in ("", None))
    types = field.schema.get("type", "text")
    return types if isinstance(types, str) else " or ".join(types)
