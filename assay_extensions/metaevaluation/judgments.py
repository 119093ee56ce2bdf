"""Judgments as runs: files that a judge submits, checked with file, line and key.

A judge submits qrels, with or without its confidence (`topic Q0 docno grade confidence run`), lists of nuggets, tables
of scores, or the folder that a program of AutoJudge writes, also as a ZIP file. The name of a file says its kind. Files
whose names begin with `tmp-` are partial: the program ran on some of the topics only, so they cannot be scored.

Source:
    autojudge-base 1.0.0, workflow/paths.py; TREC RAG 2025, qrels subtask.
"""

import math
import struct
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import BinaryIO, Literal, NamedTuple
from zipfile import BadZipFile, ZipFile

from assay.errors import InputError
from assay.formats.compression import (
    EMPTY_ZIP,
    RATIO_FROM,
    ZIP,
    Limits,
    Unreadable,
    check_directory,
    damaged,
    files_in,
    is_of_desktop,
    text_of,
)
from assay.formats.text import decoded, lines_of
from assay.nuggets.files import read_nuggets
from assay_extensions.metaevaluation.scores import gaps, read_scores

Kind = Literal["qrels", "nuggets", "scores", "other", "partial", "unknown"]
ENDINGS: tuple[tuple[str, Kind], ...] = (
    (".qrels.txt", "qrels"),
    (".qrels", "qrels"),
    (".nuggets.jsonl", "nuggets"),
    (".eval.txt", "scores"),
    (".eval.measures.yml", "other"),
    (".config.yml", "other"),
    (".responses.jsonl", "other"),
)
PARTIAL = "tmp-"
SCORED: Mapping[Kind, str] = {"qrels": "qrels", "nuggets": "lists of nuggets", "scores": "a table of scores"}
FORM_WITHOUT_SCORES = "A form was chosen, but no file is a table of scores; only these have a form."
LIMITS = Limits(max_file=64 << 20, max_text=256 << 20)  # of a submission, with all of its files
ZIP_DIRECTORY = 1 << 18  # bytes of the list of files of a ZIP
WIDTHS = {4: "topic 0 docno grade", 6: "topic Q0 docno grade confidence run"}


class JudgedLine(NamedTuple):
    """A line of qrels; `confidence` is nan and `run` empty in four columns."""

    topic: str
    docno: str
    grade: int
    confidence: float
    run: str


@dataclass(slots=True)
class Checked:
    """A file of a judge.

    Args:
        n_rows: lines of qrels, lists of nuggets, or measures of scores.
        topics: those that it has.
        problems: each with its line and key, where it has them.
    """

    name: str
    kind: Kind
    n_rows: int = 0
    topics: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


def kind_of(name: str) -> Kind:
    """Return what a file contains, by its name.

    >>> kind_of("made.qrels.txt"), kind_of("tmp-made.eval.txt"), kind_of("made.judgment.json")
    ('qrels', 'partial', 'unknown')
    """
    base = PurePath(name).name
    if base.startswith(PARTIAL):
        return "partial"
    return next((kind for ending, kind in ENDINGS if base.endswith(ending)), "unknown")


def files_of(source: BinaryIO, name: str, limits: Limits = LIMITS) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file: of a ZIP file, or the file itself, decompressed.

    Raises:
        Unreadable: It is damaged, encrypted, larger than the limits, or not text.
    """
    source.seek(0)
    if not source.read(4).startswith((ZIP, EMPTY_ZIP)):
        if name.lower().endswith(".zip"):
            raise damaged("zip", "it does not begin as a ZIP file does").named(name)
        yield name.removesuffix(".gz").removesuffix(".xz"), text_of(source, name, limits)
        return
    size, total = source.seek(0, 2), 0
    if size > limits.max_file:
        raise Unreadable("file-too-large", "The ZIP file is too large.", "At most 64 MB.", name=name)
    check_directory(source, ZIP_DIRECTORY)
    try:
        with ZipFile(source) as archive:
            for entry in files_in(archive):
                if is_of_desktop(entry.filename):
                    continue
                with archive.open(entry) as file:
                    data = file.read(int(limits.max_text) - total + 1)
                total += len(data)
                if total > min(limits.max_text, max(RATIO_FROM, limits.max_ratio * size)):
                    raise Unreadable(
                        "ratio", "Decompressed, the ZIP file is too large.", "256 MB.", name=name
                    )
                yield entry.filename, data
    except (BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError) as error:
        raise damaged("zip", error).named(name) from None
    except RuntimeError:  # of zipfile, for an encrypted entry
        raise Unreadable(
            "encrypted", "The ZIP file is encrypted.", "A ZIP without a password.", name=name
        ) from None


def check_all(
    files: Sequence[tuple[str, bytes]],
    *,
    kind: Kind | None = None,
    form: str = "",
    topics: Collection[str] = (),
    grades: Collection[int] = (),
    runs: Collection[str] = (),
) -> tuple[list[Checked], list[str]]:
    """Check the files of one judge, as `check`; also the problems of all of them together.

    A judge has one file of each kind at most: another variant of a program is another judge.
    """
    checked = [
        check(data, name, kind=kind, form=form, topics=topics, grades=grades, runs=runs)
        for name, data in files
    ]
    problems = [problem for file in checked for problem in file.problems]
    kinds = [file.kind for file in checked if file.kind in SCORED]
    if not kinds and not problems:
        problems.append(without_judgments([file.name for file in checked]))
    elif form and "scores" not in kinds:
        problems.append(FORM_WITHOUT_SCORES)
    problems += [
        f"{kinds.count(scored)} files have {words}; a judge has one: submit each variant as a judge of its own"
        for scored, words in SCORED.items()
        if kinds.count(scored) > 1
    ]
    return checked, problems


def without_judgments(names: Sequence[str]) -> str:
    """The problem of files of which none has judgments by its name."""
    endings = ", ".join(ending for ending, kind in ENDINGS if kind in SCORED)
    return (
        f"{', '.join(names[:3]) or 'The ZIP file is empty'}: no file has judgments by its name. Choose what it "
        f"contains, or let its name end in one of {endings}"
    )


def check(
    data: bytes,
    name: str,
    *,
    kind: Kind | None = None,
    form: str = "",
    topics: Collection[str] = (),
    grades: Collection[int] = (),
    runs: Collection[str] = (),
) -> Checked:
    """Check a file of a judge.

    Args:
        kind: what it contains; by default, its name says that.
        form: of a table of scores; by default, it is detected.
        topics: the topics that are expected, all of them and no others.
        grades: the grades that are accepted; any if there are none.
        runs: the names of runs that tables of scores may have; any if there are none.
    """
    checked = Checked(name, kind or kind_of(name))
    if checked.kind == "partial":
        checked.problems.append(
            f"{name}: a partial run, whose name begins with {PARTIAL}; it cannot be scored"
        )
    if checked.kind in ("partial", "other", "unknown"):
        return checked
    lines: Mapping[str, int] = {}
    try:
        if checked.kind == "qrels":
            rows, checked.problems = read_judged(data, name, grades)
            checked.n_rows, checked.topics = len(rows), {row.topic for row in rows}
        elif checked.kind == "nuggets":
            lists = read_nuggets(data, name)
            checked.n_rows, checked.topics = len(lists), {nuggets.topic for nuggets in lists}
        else:
            measures = read_scores(data, name, form, topics)
            lines = measures[0].lines
            names = list(dict.fromkeys(run for scores in measures for run in scores.runs))
            checked.n_rows = len(measures)
            checked.topics = {topic for scores in measures for topic in scores.topics}
            wrong = [gap for scores in measures for gap in gaps(scores, names, checked.topics)]
            wrong += [
                f"line {lines[f'run {run}']}: unknown run {run}" for run in names if runs and run not in runs
            ]
            checked.problems = [f"{name}: {gap}" for gap in wrong]
    except InputError as error:
        checked.problems.append(str(error))
        return checked
    if checked.kind == "scores" and not checked.topics:  # only means, which have no intervals
        return checked
    checked.problems += [
        f"{name}: no judgments of topic {code}" for code in sorted({*topics} - checked.topics)
    ]
    for code in sorted(checked.topics - {*topics}) if topics else ():
        line = lines.get(f"topic {code}")
        checked.problems.append(f"{name}: {f'line {line}: ' if line else ''}unknown topic {code}")
    return checked


def read_judged(data: bytes, name: str, grades: Collection[int] = ()) -> tuple[list[JudgedLine], list[str]]:
    """The lines of qrels of a judge in four or six columns, and what is wrong with the others.

    Raises:
        InputError: The file is not text, or has no lines.
    """
    numbered = enumerate(lines_of(decoded(data, name).text), 1)
    lines = [(number, line.split()) for number, line in numbered if line.strip()]
    if not lines:
        raise InputError(f"{name}: the file has no judgments")
    width = len(lines[0][1])
    if width not in WIDTHS:
        accepted = " or ".join(WIDTHS.values())
        raise InputError(f"{name}: line {lines[0][0]}: got {width} columns; expected {accepted}")
    rows: list[JudgedLine] = []
    problems: list[str] = []
    first_line: dict[tuple[str, str], int] = {}
    for number, words in lines:
        row = _judged(words, width, grades)
        if isinstance(row, JudgedLine):
            before = first_line.setdefault((row.topic, row.docno), number)
            if before != number:
                row = f"docno: {row.docno} is in line {before} too, of topic {row.topic}"
            elif rows and row.run != rows[0].run:
                row = f"run: got {row.run}; the file is of {rows[0].run}"
        if isinstance(row, JudgedLine):
            rows.append(row)
        else:
            problems.append(f"{name}: line {number}: {row}")
    return rows, problems


def _judged(words: list[str], width: int, grades: Collection[int]) -> JudgedLine | str:
    """A line, or the key that is wrong, what it is, and what is accepted."""
    if len(words) != width:
        return f"got {len(words)} columns; expected {WIDTHS[width]}"
    topic, _, docno, grade, *others = words
    number = int(grade) if grade.isascii() and grade.removeprefix("-").isdigit() and len(grade) < 10 else None
    if number is None or (grades and number not in grades):
        accepted = ", ".join(map(str, sorted(grades))) if grades else "a whole number"
        return f"grade: got {grade}; use {accepted}"
    if not others:
        return JudgedLine(topic, docno, number, math.nan, "")
    try:
        confidence = float(others[0])
    except ValueError:
        confidence = math.nan
    if not 0 <= confidence <= 1:
        return f"confidence: got {others[0]}; use a number from 0 to 1"
    return JudgedLine(topic, docno, number, confidence, others[1])
