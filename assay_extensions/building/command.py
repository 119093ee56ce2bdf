"""Build a test collection: cut a dump or other documents by dates, mark formulas, and check it for leaks."""

import argparse
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

from tqdm import tqdm

from assay.cli.formulas import note
from assay.cli.main import add, add_actions, share
from assay.errors import plural
from assay.formats.compression import read_file
from assay.formats.conversion import convert_index, indexes_of
from assay.formats.text import read_text
from assay.formats.topics.reader import read_topics
from assay.formulas.conversion import NAMES, Cache, Converter
from assay.processes import processors
from assay_extensions.building import leaks
from assay_extensions.building.build import build, opened, publish
from assay_extensions.building.settings import OVERLAP, Duplicates, Settings, periods
from assay_extensions.exchange import command as exchange

EXAMPLE = "assay collection build dump --output built --from 2010 --until 2018 --topics-until 2019"
CONVERT_EXAMPLE = "assay collection convert built"
LEAKS_EXAMPLE = "assay collection leaks built --topics topics.xml"
CACHE = "cache.sqlite"
PRIVATE_REPORT = "private/leaks.tsv"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = add_actions(parser)
    builder = actions.add_parser("build", help="build a collection from a dump or documents", example=EXAMPLE)
    _add_build(builder)
    checker = actions.add_parser(
        "leaks", help="check a built collection against the topics, and remove posts", example=LEAKS_EXAMPLE
    )
    checker.add_argument("folder", type=Path, metavar="FOLDER", help="output of assay collection build")
    add(checker, "--topics", type=str, required=True)
    checker.add_argument(
        "--overlap",
        type=share,
        default=leaks.OVERLAP,
        metavar="X",
        help=f"part of the word shingles that near-duplicates share (default: {leaks.OVERLAP})",
    )
    checker.add_argument(
        "--remove",
        metavar="FILE",
        help="remove posts from the collection before the check: one docno per line, or lines of a report; a question "
        "is removed with its thread",
    )
    add(checker, "--quiet")
    converter = actions.add_parser(
        "convert", help="convert the formulas of a collection or of topics to MathML", example=CONVERT_EXAMPLE
    )
    _add_convert(converter)
    exporter = actions.add_parser(
        "export", help="write a test collection in the form of another tool", example=exchange.EXAMPLE
    )
    exchange.add_arguments(exporter)


def _add_build(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="Stack Exchange dump, or documents in JSON lines, TREC's form, tables, forums in XML, HTML or text: a "
        "folder, a zip or 7z archive, or a file",
    )
    parser.add_argument(
        "--output",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="new folder, or that of a build to continue",
    )
    dates = {
        "--from": "first date of the collection: a year, month or day such as 2010-01-01 (default: no limit)",
        "--until": "last date of the collection; 2018 includes its last day (default: no limit)",
        "--topics-from": "first date of the questions that may become topics (default: after --until)",
        "--topics-until": "last date of these questions (default: no limit)",
    }
    for name, words in dates.items():
        parser.add_argument(
            name, default="", metavar="DATE", dest=name.strip("-").replace("-", "_"), help=words
        )
    parser.add_argument(
        "--duplicates",
        choices=get_args(Duplicates),
        default="keep",
        help="keep documents that repeat an earlier one; or leave out those with exactly the same words, or also "
        "near-duplicates (default: keep)",
    )
    parser.add_argument(
        "--overlap",
        type=share,
        default=OVERLAP,
        metavar="X",
        help=f"part of the word shingles that near-duplicates share (default: {OVERLAP})",
    )
    parser.add_argument(
        "--no-formulas", action="store_true", help="do not look for formulas: a dollar is a dollar"
    )
    parser.add_argument("--no-pages", action="store_true", help="write no HTML page for each thread")
    add(parser, "--processes", "--quiet")


def _add_convert(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source",
        type=Path,
        metavar="SOURCE",
        help="output of assay collection build, a formula index in LaTeX, a folder of indexes, or a topic file",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="folder of the results; topics and single indexes need it (default: the folder that contains the indexes)",
    )
    parser.add_argument(
        "--converter",
        choices=NAMES,
        default="auto",
        help="latexml, or latex2mathml for Presentation MathML only (default: LaTeXML where it is installed)",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        metavar="FILE",
        help="SQLite file of converted formulas, which conversions may share (default: cache.sqlite in the results)",
    )
    add(parser, "--processes", "--quiet")


def run(arguments: argparse.Namespace) -> int:
    return {"build": _build, "leaks": _leaks, "convert": _convert, "export": exchange.run}[arguments.action](
        arguments
    )


def _convert(arguments: argparse.Namespace) -> int:
    converter = Converter.named(arguments.converter)
    source, out = indexes_of(arguments.source, arguments.output)
    cache = Cache(arguments.cache or out / CACHE, converter)
    with Bar(is_quiet=arguments.quiet) as bar:
        counts = convert_index(
            source,
            out,
            cache=cache,
            processes=arguments.processes or processors(),
            progress=lambda step: bar.show(f"{step.files} of {step.n_files:,}", step.done, step.total),
        )
    slt, opt = f"{counts.without_slt:,} without SLT", f", {counts.without_opt:,} without OPT"
    note(
        f"{plural(counts.formulas, 'formula')} by {converter.full_name}: {slt}{opt * converter.has_content}",
        arguments,
    )
    return 0


def _build(arguments: argparse.Namespace) -> int:
    dates = (vars(arguments)[name] for name in ("from", "until", "topics_from", "topics_until"))
    collection, topics = periods(*dates)
    settings = Settings(
        collection=collection,
        topics=topics,
        has_formulas=not arguments.no_formulas,
        has_pages=not arguments.no_pages,
        duplicates=arguments.duplicates,
        overlap=arguments.overlap,
    )
    with Bar(is_quiet=arguments.quiet) as bar:
        manifest = build(
            arguments.source, arguments.output, settings, bar.show, processes=arguments.processes
        )
    if not arguments.quiet:
        sys.stdout.write(summary(manifest))
    return 0


def summary(manifest: dict[str, Any]) -> str:
    """The numbers of a manifest as TSV: of the source, and of the collection."""
    before, after = manifest["before"], dict(manifest["after"])
    places = {name: n for name, n in manifest["formulas"].items() if name != "all"}
    after |= {"formulas": manifest["formulas"]["all"]} | {
        f"formulas: {name}": n for name, n in places.items()
    }
    after |= {name: manifest[name] for name in ("candidates", "repeated", "removed") if manifest[name]}
    names = sorted({*before, *after})
    rows = [
        ("number of", "source", "collection"),
        *((name, before.get(name, ""), after.get(name, 0)) for name in names),
    ]
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def _leaks(arguments: argparse.Namespace) -> int:
    topics = read_topics(read_file(arguments.topics), arguments.topics)
    decided = leaks.decisions(read_text(arguments.remove), arguments.remove) if arguments.remove else []
    with opened(arguments.folder) as store, Bar(is_quiet=arguments.quiet) as bar:
        if decided:
            leaks.remove(store, decided, arguments.remove)
            is_converted = any((arguments.folder / "formulas" / "slt").glob("*.tsv"))
            publish(store, arguments.folder, bar.show)
            if is_converted:
                note(
                    f"the MathML is deleted: convert it again with assay collection convert {arguments.folder}",
                    arguments,
                )
        report = leaks.check(
            store, topics, lambda done, total: bar.show("comparing", done, total), overlap=arguments.overlap
        )
    text = "".join(report.text())
    (arguments.folder / PRIVATE_REPORT).write_text(text)
    sys.stdout.write(text)
    for kind, (n, n_removed) in report.counts().items():
        if n:
            note(f"{kind}: {n:,}{f', {n_removed:,} of them removed' if n_removed else ''}", arguments)
    if not report.leaks:
        note("no leaks", arguments)
    if report.unknown:
        codes = ", ".join(report.unknown[:20]) + (", ..." if len(report.unknown) > 20 else "")
        note(f"own question unknown, so only the text was compared: {codes}", arguments)
    return int(any(leak.is_forbidden for leak in report.leaks))


class Bar:
    """A progress bar of steps, on a terminal only."""

    def __init__(self, *, is_quiet: bool) -> None:
        self._bar = tqdm(disable=is_quiet or None, leave=False, unit_scale=True)
        self._step = ""

    def __enter__(self) -> "Bar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    def show(self, step: str, done: int, total: int) -> None:
        if step != self._step:
            self._step = step
            self._bar.reset(total or None)
            self._bar.set_description(step)
        self._bar.update(done - self._bar.n)
