"""The action `assay collection export`: a test collection in the form of another tool."""

import argparse
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tqdm import tqdm

from assay.archive.files import Writer
from assay.cli.formulas import note
from assay.cli.main import add
from assay.digests import RunningSha256
from assay.errors import InputError, plural
from assay.formats.qrels.exports import CHECKSUMS
from assay_extensions.exchange.content import SPLIT, Folder, TestCollection, Zipped
from assay_extensions.exchange.library import PREFIX, collection_from_files, collection_from_ir_datasets
from assay_extensions.exchange.registry import FORMS, STEP, Add, read

EXAMPLE = (
    "assay collection export --documents documents.jsonl --topics topics.xml --qrels qrels.txt --to beir "
    "--output converted"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        nargs="?",
        metavar="SOURCE",
        help=f"test collection: a folder or zip in one of the forms below, or {PREFIX}ID for a data set of ir_datasets "
        f"(default: --documents, --topics and --qrels)",
    )
    parser.add_argument(
        "--to",
        required=True,
        choices=list(FORMS),
        help="form: " + "; ".join(f"{form.name}, {form.title}" for form in FORMS.values()),
    )
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="PATH",
        help="new folder, or a file whose name ends in .zip",
    )
    parser.add_argument(
        "--documents", type=Path, metavar="PATH", help="file or folder of documents of any form"
    )
    add(parser, "--topics", type=Path)
    parser.add_argument(
        "--qrels",
        type=_split,
        action="append",
        default=[],
        metavar="[SPLIT=]FILE",
        help=f"qrels; repeat it for several splits, such as train=FILE (default split: {SPLIT})",
    )
    parser.add_argument(
        "--name", default="", help="short name of the collection (default: that of the source)"
    )
    for option, words in (
        ("--title", "title"),
        ("--license", "license, its name or URL"),
        ("--url", "home page"),
    ):
        parser.add_argument(option, default="", help=f"{words}, for the description")
    add(parser, "--quiet")


def _split(text: str) -> tuple[str, Path]:
    split, equals, path = text.partition("=")
    return (split, Path(path)) if equals else (SPLIT, Path(text))


def run(arguments: argparse.Namespace) -> int:
    form = FORMS[arguments.to]
    with _collection(arguments) as collection, _target(arguments.output, collection.name) as write:
        bar = tqdm(desc="documents", disable=arguments.quiet or None, leave=False, unit_scale=True)
        with bar:
            counts = form.write(collection, write, lambda _n: bar.update(STEP))
    words = ", ".join(plural(n, noun) for noun, n in counts.items())
    note(f"{arguments.output}: {words}", arguments)
    return 0


@contextmanager
def _collection(arguments: argparse.Namespace) -> Iterator[TestCollection]:
    source, single = arguments.source, (arguments.documents, arguments.topics)
    if bool(source) == any(single) or (not source and not all(single)):
        raise InputError("name a SOURCE, or --documents and --topics with --qrels; not both")
    if not source:
        name = arguments.name or arguments.documents.name.partition(".")[0]
        yield _described(collection_from_files(*single, dict(arguments.qrels), name), arguments)
    elif source.startswith(PREFIX):
        yield _described(collection_from_ir_datasets(source.removeprefix(PREFIX)), arguments)
    elif Path(source).is_dir():
        yield _described(read(Folder(Path(source))), arguments)
    else:
        try:
            with Path(source).open("rb") as file:
                yield _described(read(Zipped(file, Path(source).name)), arguments)
        except OSError as error:
            raise InputError(f"{source}: {error.strerror}") from None


def _described(collection: TestCollection, arguments: argparse.Namespace) -> TestCollection:
    return TestCollection(
        arguments.name or collection.name,
        collection.topics,
        collection.qrels,
        collection.documents,
        title=arguments.title,
        license=arguments.license,
        url=arguments.url,
    )


@contextmanager
def _target(path: Path, name: str) -> Iterator[Add]:
    """Write files into a new folder or ZIP file, and their checksums at the end. A failure leaves nothing behind."""
    if path.exists():
        raise InputError(f"{path} exists already; choose another name, or move it away")
    path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=path.parent, prefix=".export-") as part:
        target = Path(part) / path.name
        if path.suffix == ".zip":
            with target.open("xb") as file, Writer(file, name) as writer:
                yield writer.add
                writer.close()
        else:
            sums: dict[str, str] = {}

            def add_file(name: str, pieces: Iterable[bytes]) -> None:
                digest = RunningSha256()
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                with (target / name).open("wb") as file:
                    for piece in pieces:
                        digest.update(piece)
                        file.write(piece)
                sums[name] = digest.value

            yield add_file
            lines = "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items()))
            (target / CHECKSUMS).write_text(lines)
        target.rename(path)
