"""The input of the command: runs and the machine's qrels, samples with people's grades, and attributes of units."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.documents.batch import Unusable
from assay.formats.documents.jsonl import docno_of, text_of, with_usual_names
from assay.formats.qrels.columns import QrelsColumns, columns_from, documents, lines_of, with_parts
from assay.formats.qrels.reader import read_qrels
from assay.formats.runs.columns import Ranked
from assay.formats.text import lines_of as text_lines
from assay.formats.text import read_text
from assay.formats.topics.reader import read_topics
from assay.html.sanitize import clean_body, plain
from assay.measures.matching import JudgedDocuments
from assay.protocols.measures import Measure
from assay.protocols.schema import Protocol
from assay.research.comparison import Inputs
from assay_extensions.estimates.designs import Sample
from assay_extensions.estimates.weights import Floats, Ints, Units, gains, weights_of

IN_SAMPLE, REST = b"sample", b"rest"  # the algorithm in qrels with probabilities
WORD = re.compile(r"\w+")
Unit = tuple[bytes, bytes]


class Drawn(NamedTuple):
    """A sample that people judged.

    Args:
        units: (sampled,) rows of the machine's qrels, ascending.
        probability: (units,) of each unit to be in the sample; nan if the file does not have it.
        grade: (sampled,) people's grades.
    """

    units: Ints
    probability: Floats
    grade: Ints


class Machine:
    """The machine's qrels, and runs that they value."""

    def __init__(self, inputs: Inputs, path: str) -> None:
        self.inputs, self.path = inputs, path
        self.judged: JudgedDocuments = inputs.judged

    @property
    def runs(self) -> Sequence[Ranked]:
        return self.inputs.runs

    @property
    def n_topics(self) -> int:
        return self.judged.n_topics

    @cached_property
    def row_of(self) -> Mapping[Unit, int]:
        return {unit: row for row, unit in enumerate(documents(self.inputs.qrels))}

    def units(self, measure: Measure, runs: Sequence[Ranked] | None = None) -> Units:
        """The units for a measure that is a sum over ranks, and for other runs if they are given.

        Raises:
            InputError: It is not.
        """
        weight = weights_of(self.runs if runs is None else runs, self.judged, measure)
        return Units(self.judged.topic, self.n_topics, weight, gains(measure, self.judged.grade))

    def drawn_by(self, people: QrelsColumns) -> Drawn:
        """The units that people judged, as a sample in which each of them was certain."""
        rows = np.array([self.row_of[unit] for unit in documents(people)], dtype=np.int64)
        order = np.argsort(rows)
        return Drawn(rows[order], np.ones(len(self.judged.topic)), people.grade[order].astype(np.int64))

    def best_ranks(self) -> tuple[Ints, Ints]:
        """(units,) the best rank in any run, and the number of the first run with it; 0 and -1 for units of no run."""
        rank = np.zeros(len(self.judged.topic), dtype=np.int64)
        run = np.full(len(rank), -1, dtype=np.int64)
        for number, ranked in enumerate(self.runs):
            located = self.judged.locate(ranked)
            is_better = (rank[located.entry] == 0) | (located.rank < rank[located.entry])
            entry = located.entry[is_better]
            rank[entry], run[entry] = located.rank[is_better], number
        return rank, run


def sample_lines(
    machine: Machine, sample: Sample, rows: Ints, grades: Mapping[int, int] = MappingProxyType({})
) -> bytes:
    """The file of a sample: rows of units as topic, docno, people's grade, `sample` or `rest`, and probability.

    The grade of a unit without one is -1.
    """
    units, sampled = list(documents(machine.inputs.qrels)), set(sample.units.tolist())
    chosen = rows.tolist()  # ordered as columns are: by topic and docno
    columns = columns_from((*units[row], grades.get(row, -1)) for row in chosen)
    words = [b"%s %.10g" % (IN_SAMPLE if row in sampled else REST, sample.probability[row]) for row in chosen]
    codes = [code.encode() for code in columns.topics.tolist()]
    return b"".join(lines_of(with_parts(columns, "probabilities", words), codes))


def read_people(path: str, protocol: Protocol, machine: Machine) -> QrelsColumns:
    """People's qrels of units that the machine judged.

    Pooled units without a grade are left out, and topics that have only such units.

    Raises:
        InputError: The file cannot be read, or has a unit that the machine did not judge.
    """
    qrels = read_qrels(path, protocol, kind="grades", has_scale=bool(protocol.slug))
    qrels = qrels.kept(qrels.grade >= 0)
    qrels = qrels.keep_topics(qrels.topics[np.unique(qrels.topic_index)].tolist())
    _check_units(path, documents(qrels), machine)
    return qrels


def read_sample(path: str, protocol: Protocol, machine: Machine, people: QrelsColumns | None) -> Drawn:
    """A sample as `assay estimate sample` writes it; people's grades are in it, or in their qrels.

    Raises:
        InputError: It cannot be read, the machine or people did not judge a unit of it, or it is empty.
    """
    sample = read_qrels(path, protocol, kind="probabilities", has_scale=False)
    assert sample.parts is not None  # of this kind
    _check_units(path, documents(sample), machine)
    graded = {} if people is None else dict(zip(documents(people), people.grade.tolist(), strict=True))
    probability = np.full(len(machine.judged.topic), np.nan)
    units, grades, missing = [], [], []
    for unit, own, words in zip(documents(sample), sample.grade.tolist(), sample.parts.tolist(), strict=True):
        algorithm, chance = words.split()
        row = machine.row_of[unit]
        probability[row] = float(chance)
        if algorithm == REST:
            continue
        grade = graded.get(unit, own)
        units.append(row)
        grades.append(grade)
        if grade < 0:
            missing.append(unit)
    if not units:
        raise InputError(
            f"{path}: no unit is in the sample; lines of its units have the word {IN_SAMPLE.decode()}"
        )
    if missing:
        named = " ".join(word.decode() for word in missing[0])
        raise InputError(
            f"{path}: people have not judged {len(missing):,} of {plural(len(units), 'unit')} in the sample, such as "
            f"{named}; an estimate needs all of them"
        )
    order = np.argsort(units)
    return Drawn(np.array(units)[order], probability, np.array(grades)[order])


def _check_units(path: str, units: Iterator[Unit], machine: Machine) -> None:
    for topic, docno in units:
        if (topic, docno) not in machine.row_of:
            raise InputError(
                f"{path}: {topic.decode()} {docno.decode()} is not in {machine.path}; the machine must judge every "
                "unit that people judge"
            )


def read_attributes(path: str, machine: Machine) -> dict[str, Floats]:
    """Numbers of units by name, from a table: topic, docno, and a column for each, separated by tabs.

    Units that are not in it have nan.

    Raises:
        InputError: The header or a line is wrong; the message names the line.
    """
    lines = text_lines(read_text(path))
    header = lines[0].split("\t")
    names = header[2:]
    if header[:2] != ["topic", "docno"] or not names or len(set(header)) < len(header) or not all(names):
        raise InputError(
            f"{path}: line 1: expected topic, docno and names of attributes, separated by tabs, got {lines[0][:80]!r}"
        )
    values = {name: np.full(len(machine.judged.topic), np.nan) for name in names}
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) != len(header):
            raise InputError(f"{path}: line {number}: expected {len(header)} columns, got {len(cells)}")
        row = machine.row_of.get((cells[0].encode(), cells[1].encode()))
        for name, cell in zip(names, cells[2:], strict=True):
            try:
                value = float(cell) if cell else math.nan
            except ValueError:
                raise InputError(f"{path}: line {number}: {name}: {cell[:40]!r} is not a number") from None
            if row is not None:
                values[name][row] = value
    return values


def read_texts(documents_path: str, topics_path: Path | None, machine: Machine) -> dict[str, Floats]:
    """The logarithm of each document's length in words, and with topics the share of the topic's words that it has.

    Raises:
        InputError: A line is not a document; the message names the line.
    """
    units_of: dict[str, list[int]] = {}
    for (_, docno), unit in machine.row_of.items():
        units_of.setdefault(docno.decode(), []).append(unit)
    topics = _topic_words(topics_path) if topics_path else {}
    codes = machine.judged.topics.tolist()
    size = len(machine.judged.topic)
    length, overlap = np.full(size, np.nan), np.full(size, np.nan)
    for number, line in enumerate(read_file(documents_path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = with_usual_names(json.loads(line))
            name = docno_of(row.get("docno"))
            texts = [text_of(row.get(key), key) for key in ("title", "text", "body")]
        except Unusable as problem:
            raise InputError(f"{documents_path}: line {number}: {problem}") from None
        except (ValueError, TypeError, AttributeError, RecursionError):
            raise InputError(f"{documents_path}: line {number}: not a JSON object in UTF-8") from None
        if name not in units_of:
            continue
        words = WORD.findall(" ".join([*texts[:2], plain(clean_body(texts[2]))]).lower())
        has = set(words)
        for unit in units_of[name]:
            length[unit] = math.log(max(1, len(words)))
            if wanted := topics.get(codes[machine.judged.topic[unit]]):
                overlap[unit] = len(wanted & has) / len(wanted)
    if np.isnan(length).all():
        raise InputError(f"{documents_path}: no document of {machine.path} is in it")
    return {"log length": length} | ({"share of topic words": overlap} if topics else {})


def _topic_words(path: Path) -> dict[str, set[str]]:
    rows = read_topics(read_file(str(path)), path.name, is_formula=False)
    return {row.code: set(WORD.findall(plain(f"{row.title} {row.body}").lower())) for row in rows}


def run_names(names: Sequence[str], known: Sequence[str], option: str) -> list[int]:
    """The places of runs by their names.

    Raises:
        InputError: There is no run of that name.
    """
    for name in names:
        if name not in known:
            raise InputError(f"{option}: there is no run {name!r}; use {', '.join(known)}")
    return [known.index(name) for name in names]
