"""Converts formula indexes from LaTeX to MathML, file by file, in the published form.

From `latex/1.tsv`, `convert_file` writes `slt/1.tsv` and `opt/1.tsv`: the same rows in the same order, with
Presentation or Content MathML in the last column, which is empty where the conversion failed; and `failures/1.tsv`, a
row for each failure with its reason. `convert_index` does this for all files of a folder.

The files are independent of each other: several processes may convert different files with one cache. A file that was
converted is skipped, and a file that was begun continues, because the cache has its formulas. Memory holds the
distinct formulas of one file in LaTeX, or of some small ones.
"""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TextIO

from assay.errors import BadFile, InputError, plural
from assay.formats.compression import UnpackedFile, read_file
from assay.formats.documents.sources import BOM, HEAD, files_of
from assay.formats.formulas import lines_of
from assay.formats.spreadsheet import tsv_lines
from assay.formats.topics import writer
from assay.formats.topics.reader import read_topics
from assay.formulas.conversion import Cache, Convert, fill
from assay.formulas.latexml import Conversion

CONVERTER: Final = "converter.txt"
FAILURES: Final = "failures"
CONVERTED: Final = ("slt", "opt", FAILURES)  # the folders that a conversion writes
_ROWS: Final = 2_000
_SMALL: Final = 4_000_000  # bytes of files whose formulas are converted together
_HEADER: Final = ("id", "post_id", "type", "representation", "message")
_UNPARSED: Final = "LaTeXML could not parse the formula"


class Step(NamedTuple):
    """Progress of a conversion: the files at work, the finished ones of all, and their converted new formulas."""

    files: str  # 1.tsv; or 1.tsv to 101.tsv, if small ones are converted together
    n_finished: int
    n_files: int
    done: int
    total: int


class Counts(NamedTuple):
    """The formulas of some files, and how many have no MathML."""

    formulas: int = 0
    without_slt: int = 0
    without_opt: int = 0

    def __add__(self, other: "Counts") -> "Counts":  # type: ignore[override]
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


def indexes_of(source: Path, out: Path | None) -> tuple[Path, Path]:
    """The indexes in LaTeX of a source, and the folder of results, which is made.

    Args:
        source: output of `assay collection build`, a folder of indexes, an index, or a topic file. The index of a
            topic file is written into the results.
        out: the folder; None for the one that contains a folder of indexes.

    Raises `InputError` if the folder is not given and not clear, and `BadFile` if the topics have errors.
    """
    built = source / "formulas" / "latex"
    source = built if built.is_dir() else source
    if out is None:
        if not source.is_dir():
            raise InputError("--output is missing: the folder for the MathML of topics or of a single index.")
        out = source.resolve().parent
    out.mkdir(parents=True, exist_ok=True)
    if source.is_dir() or is_index(source):
        return source, out
    index = writer.formulas(read_topics(read_file(str(source)), source.name))
    target = out / "latex" / _name_of(source)
    target.parent.mkdir(exist_ok=True)
    if not target.is_file() or target.read_bytes() != index:  # else the conversion continues
        target.write_bytes(index)
    return target, out


def _name_of(path: Path) -> str:
    """The name of the results of a file, which may be compressed."""
    return f"{path.name.split('.', 1)[0]}.tsv"


def is_index(path: Path) -> bool:
    """Return whether a file begins as a table whose first column is an id."""
    with path.open("rb") as file:
        first = UnpackedFile(file, path.name).read(HEAD).partition(b"\n")[0].removeprefix(BOM)
    return first.split(b"\t")[0].strip(b'"').lower() in {b"id", b"formula_id"}


def convert_index(
    source: Path,
    out: Path,
    *,
    cache: Cache,
    processes: int = 0,
    convert: Convert | None = None,
    progress: Callable[[Step], object] = lambda _step: None,
) -> Counts:
    """Convert a formula index, or a folder of them, into `slt` and `opt` in a folder; see `fill` for the converters.

    Raises `BadFile` if a file is not a formula index in LaTeX, with the line; `InputError` if the folder has formulas
    of another converter, or two files have the same name before the first dot, which is that of their results.
    """
    files = list(files_of([source]))
    by_name: dict[str, Path] = {}
    for path in files:
        if (other := by_name.setdefault(_name_of(path), path)) is not path:
            raise InputError(f"{other.name} and {path.name} would have the same results; rename one of them.")
    counts, n_finished = Counts(), 0

    def step_report(paths: Sequence[Path], n_finished: int) -> Callable[[int, int], object]:
        names = " to ".join(dict.fromkeys((paths[0].name, paths[-1].name)))
        return lambda done, total: progress(Step(names, n_finished, len(files), done, total))

    groups: list[list[Path]] = []  # small files together: a converter then starts once for them
    for path in files:
        if not groups or sum(member.stat().st_size for member in (*groups[-1], path)) > _SMALL:
            groups.append([])
        groups[-1].append(path)
    for group in groups:
        new = [path for path in group if not _is_converted(path, _targets(path, out, cache))]
        if len(new) > 1:
            _check_converter(out, cache.converter.full_name)
            formulas = (row[-1] for path in new for row in _rows(path))
            report = step_report(new, n_finished)
            fill(cache, formulas, processes=processes, convert=convert, progress=report)
        for path in group:
            report = step_report([path], n_finished)
            counts += convert_file(
                path, out, cache=cache, processes=processes, convert=convert, progress=report
            )
            n_finished += 1
    return counts


def convert_file(
    path: Path,
    out: Path,
    *,
    cache: Cache,
    processes: int = 0,
    convert: Convert | None = None,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> Counts:
    """Convert a formula index, unless that was done before; see `convert_index`."""
    _check_converter(out, cache.converter.full_name)
    targets = _targets(path, out, cache)
    if not _is_converted(path, targets):
        formulas = (row[-1] for row in _rows(path))
        fill(cache, formulas, processes=processes, convert=convert, progress=progress)
        _write(path, targets, cache)
    with targets["slt"].open(encoding="utf-8", newline="") as file:
        n_formulas = sum(1 for _ in csv.reader(file, delimiter="\t")) - 1
    with targets[FAILURES].open(encoding="utf-8", newline="") as file:
        n = Counter(row["representation"] for row in csv.DictReader(file, delimiter="\t"))
    return Counts(n_formulas, n["slt"], n["opt"])


def _targets(path: Path, out: Path, cache: Cache) -> dict[str, Path]:
    forms = ("slt", "opt") if cache.converter.has_content else ("slt",)
    return {form: out / form / _name_of(path) for form in (*forms, FAILURES)}


def _is_converted(path: Path, targets: Mapping[str, Path]) -> bool:
    changed = path.stat().st_mtime
    return all(target.is_file() and target.stat().st_mtime >= changed for target in targets.values())


def _check_converter(out: Path, name: str) -> None:
    """Visual ids of two converters are not comparable, so a folder has the formulas of one."""
    out.mkdir(parents=True, exist_ok=True)
    file = out / CONVERTER
    if not file.exists():
        file.write_text(f"{name}\n")
    if (other := file.read_text().strip()) != name:
        raise InputError(
            f"{out} has formulas of {other}, not of {name}; use that converter, or another folder."
        )


def _rows(path: Path) -> Iterator[list[str]]:
    """The rows of an index in LaTeX, after its header."""
    csv.field_size_limit(2**31 - 1)
    with path.open("rb") as file:
        reader = csv.reader(lines_of(UnpackedFile(file, path.name), path.name), delimiter="\t", strict=True)
        try:
            header = _header(reader, path.name)
            for row in reader:
                if len(row) != len(header) or not row[0]:
                    got = f"got {len(row)}" if len(row) != len(header) else "the id is empty"
                    raise BadFile(
                        f"{path.name}, line {reader.line_num:,}: expected {plural(len(header), 'column')}; {got}."
                    )
                yield row
        except csv.Error as error:
            raise BadFile(f"{path.name}, line {reader.line_num:,}: {error}.") from None


def _header(reader: Iterable[Sequence[str]], name: str) -> list[str]:
    header = [word.lower() for word in next(iter(reader), ())]
    if len(header) < 2 or header[0] not in {"id", "formula_id"} or header[-1] not in {"formula", "latex"}:
        raise BadFile(
            f"{name} is not a formula index in LaTeX: its first line is {' '.join(header)[:200]!r}; the first column "
            "is id, and the last one formula."
        )
    return header


def _write(path: Path, targets: Mapping[str, Path], cache: Cache) -> None:
    """Write all files of an index; they get their names when they are complete."""
    parts = {form: target.with_suffix(".part") for form, target in targets.items()}
    with ExitStack() as stack, path.open("rb") as source:
        lines = lines_of(UnpackedFile(source, path.name), path.name)
        columns = _header(csv.reader(lines, delimiter="\t"), path.name)
        files: dict[str, TextIO] = {}
        for form, part in parts.items():
            part.parent.mkdir(parents=True, exist_ok=True)
            files[form] = stack.enter_context(part.open("w", encoding="utf-8", newline=""))
            header = _HEADER if form == FAILURES else [*columns[:-1], form]
            files[form].writelines(tsv_lines([header]))
        all_rows = _rows(path)
        while rows := list(islice(all_rows, _ROWS)):
            results = cache.known(list({row[-1] for row in rows}))
            for form in targets.keys() - {FAILURES}:
                files[form].writelines(
                    tsv_lines([*row[:-1], _mathml(results[row[-1]], form)] for row in rows)
                )
            failures = (
                (row[0], *row[1:2], row[3] if len(row) > 4 else "", form, result.message or _UNPARSED)
                for row in rows
                for result in [results[row[-1]]]
                for form in targets
                if form != FAILURES and not _mathml(result, form)
            )
            files[FAILURES].writelines(tsv_lines(failures))
    for form, part in parts.items():
        part.replace(targets[form])


def _mathml(result: Conversion, form: str) -> str:
    return result.presentation if form == "slt" else result.content
