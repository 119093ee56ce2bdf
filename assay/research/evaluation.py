"""Scores of runs: by run, by topic, and by class of topics."""

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError, InputWarning
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import ScoreRow, TopicClass, are_words, classes_of
from assay.measures.units import Scored, Units, judged_documents, prepare, score_prepared
from assay.plots import groups
from assay.processes import map_forked, processors
from assay.protocols.measures import Measure, qrels_of
from assay.protocols.schema import Average, Protocol
from assay.research.inputs import (
    Names,
    PathLike,
    Runs,
    Scoring,
    Values,
    measures_of,
    named_runs,
    protocol_of,
    qrels_from_any,
    run_from_any,
)
from assay.research.results import Figure, Result
from assay.tables import Table

SMALL = 2 << 20  # bytes; starting a second process takes longer than reading fewer bytes
Labels = Mapping[str, Mapping[str, str]]  # by topic, then by label


class Request(NamedTuple):
    """What scores a run."""

    protocol: Protocol
    judged: JudgedDocuments
    measures: list[Measure]
    units: Units

    def score(self, named: tuple[str, Values]) -> Scored:
        """The scores of the values of a run, which come with its name."""
        name, values = named
        run = run_from_any(values, name, self.protocol, self.units.formats)
        return score_prepared(prepare(run, self.units.formulas), self.judged, self.measures)


def evaluate(
    qrels: Values,
    runs: Runs,
    measures: Names = (),
    *,
    protocol: PathLike | Protocol | None = None,
    average: Average | None = None,
    units: str | None = None,
    formulas: Sequence[PathLike] = (),
    scale: int = 1,
    duplicates: PathLike | None = None,
    labels: PathLike | Labels | None = None,
    label: Sequence[str] = (),
    processes: int | None = None,
    progress: Callable[[int], None] = lambda n: None,
) -> "Evaluation":
    """Score runs with qrels, as `assay evaluate` does.

    Args:
        qrels: a path, `{topic: {docno: grade}}`, a table with columns such as query_id, doc_id and relevance, or named
            tuples.
        runs: a path or a list of them; or `{name: run}`, where a run is a path, `{topic: {docno: score}}`, a table or
            named tuples; or the values of a single run.
        measures: names such as "nDCG@10"; by default, those of the protocol.
        protocol: slug of a shipped protocol or path of a TOML file. None: runs in the columns of TREC or ARQMath, and
            any grade; then the measures must be named.
        average: "judged", over all topics of the qrels, where a missing topic counts 0; or "common", over the topics
            that the run has. By default as the protocol says, or "judged".
        units: "distinct", "instances" or "visual-ids", for formulas; `formulas` are the indexes that identify them.
        scale: every grade is multiplied by it, so that fractions become whole numbers.
        duplicates: a file of near-duplicates of judged documents.
        labels, label: labels of topics, as a file or `{topic: {label: value}}`, and those that give means of classes.
        processes: by default, one for each processor if files are large and this process has no other threads.
        progress: called with the number of runs that are begun.

    Raises:
        InputError: Something cannot be used: the message says what, and what is accepted.
    """
    if scale < 1:
        raise InputError(f"scale {scale}: use a whole number from 1")
    scoring = Scoring(
        protocol=protocol, average=average, units=units, formulas=formulas, duplicates=duplicates
    )
    rules = protocol_of(protocol)
    parsed, named = measures_of(measures, rules), named_runs(runs)
    scored_units = scoring.read_units(rules)
    columns = qrels_from_any(qrels, rules, scale=scale, kind=qrels_of(parsed))
    request = Request(rules, judged_documents(columns, scoring.duplicates_path), parsed, scored_units)
    topics = request.judged.topics.tolist()
    classes = [] if labels is None else _classes(labels, label, topics, rules)
    files = [Path(values) for values in named.values() if isinstance(values, (str, Path))]
    size = sum(file.stat().st_size for file in files if file.is_file())
    is_parallel = size > SMALL and threading.active_count() == 1  # a notebook's threads must not be copied
    scored = map_forked(
        request.score,
        list(named.items()),
        processes=processes or (processors() if is_parallel else 1),
        refusals=InputError,
        started=progress,
    )
    for name, result in zip(named, scored, strict=True):
        if result.problem:
            warnings.warn(f"{name}: {result.problem}", InputWarning, stacklevel=2)
    return Evaluation(
        list(named),
        parsed,
        average or rules.scoring.average,
        request.judged,
        scored,
        classes,
        needs_duplicates=rules.scoring.duplicates_are_false_alarms and duplicates is None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Result):
    """The scores of some runs. Its tables are `runs`, `topics` and, with labels, `classes`.

    Args:
        names: of the runs.
        measures: their names are `str(measure)`.
        scored: of each run.
        needs_duplicates: the protocol counts near-duplicates as not relevant, but no file names them.
    """

    names: list[str]
    measures: list[Measure]
    average: Average
    judged: JudgedDocuments
    scored: list[Scored]
    of_classes: list[TopicClass]
    needs_duplicates: bool = False

    @property
    def topics(self) -> list[str]:
        """The codes of the topics of the qrels."""
        codes: list[str] = self.judged.topics.tolist()
        return codes

    @property
    def values(self) -> NDArray[np.float64]:
        """(runs, topics, measures) values; 0.0 for topics that are missing from a run."""
        return np.array([each.scores.values for each in self.scored])

    @property
    def means(self) -> NDArray[np.float64]:
        """(runs, measures) means, or other summaries, over the topics that count."""
        return np.array([each.scores.means(self.average) for each in self.scored])

    @property
    def notes(self) -> list[str]:
        """(runs,) the topics that the means of each run are taken over, in words."""
        notes = []
        for each in self.scored:
            n_averaged, n_common = (
                int(each.scores.averaged(self.average).sum()),
                int(each.scores.has_topic.sum()),
            )
            n_missing, n_extra = each.scores.n_missing, each.n_topics - n_common
            text = f"averaged over {n_averaged} topics; {n_missing} of the qrels missing from the run"
            if n_missing:
                text += ", counted as 0" if self.average == "judged" else ", left out"
            if n_extra:
                text += f"; {n_extra} of the run not in the qrels, ignored"
            notes.append(text + (f"; {each.note}" if each.note else ""))
        return notes

    def rows(self, *, per_topic: bool) -> list[ScoreRow]:
        """One row for each value: of topics if wanted, then means, then means of classes; run by run."""
        rows: list[ScoreRow] = []
        for name, each in zip(self.names, self.scored, strict=True):
            rows += each.scores.rows(
                self.judged,
                self.measures,
                self.average,
                per_topic=per_topic,
                run=name,
                classes=self.of_classes,
            )
        return rows

    @cached_property
    def tables(self) -> list[Table]:
        """Means of each run; values of each run and topic; and means of each run and class."""
        columns = tuple(map(str, self.measures))
        average = "all topics of the qrels" if self.average == "judged" else "the topics that the run has"
        means = [
            (name, int(each.scores.averaged(self.average).sum()), each.scores.n_missing, *row)
            for name, each, row in zip(self.names, self.scored, self.means.tolist(), strict=True)
        ]
        topics = [
            (name, topic, *row)
            for name, each in zip(self.names, self.scored, strict=True)
            for topic, row, counts in zip(
                self.topics,
                each.scores.values.tolist(),
                each.scores.averaged(self.average).tolist(),
                strict=True,
            )
            if counts
        ]
        classes = [
            (name, group.name, group.n_topics, *each.scores.means_over(group, self.average).tolist())
            for name, each in zip(self.names, self.scored, strict=True)
            for group in self.of_classes
        ]
        tables = [
            Table(
                "runs",
                f"means over {average}; missing are topics of the qrels that the run lacks",
                ("run", "topics", "missing", *columns),
                means,
            ),
            Table("topics", "values by topic", ("run", "topic", *columns), topics),
        ]
        if classes:
            tables.append(
                Table("classes", "means by class of topics", ("run", "class", "topics", *columns), classes)
            )
        return tables

    def plot(self) -> Figure:
        """The mean of each run, one group of bars for each measure."""
        series = list(zip(self.names, self.means.tolist(), strict=True))
        return Figure(
            groups(
                "runs",
                "Means of the runs",
                list(map(str, self.measures)),
                series,
                across="Measure",
                up="Mean",
            )
        )


def _classes(
    labels: PathLike | Labels, chosen: Sequence[str], topics: Sequence[str], protocol: Protocol
) -> list[TopicClass]:
    """The classes of topics by the chosen labels of a file, or else by the topic classes of the protocol.

    If the topics have none of these labels, by all labels with a few values that are words.
    """
    place, of_topics = "labels", labels
    if isinstance(of_topics, (str, Path)):
        from assay.formats.topics.reader import read_labels  # noqa: PLC0415 -- slow to import, and rarely needed

        place = str(of_topics)
        of_topics = read_labels(Path(place).read_bytes(), Path(place).name)
    known = {code: of_topics[code] for code in topics if code in of_topics}
    if not known:
        raise InputError(f"{place}: no label is for a topic of the qrels")
    names = dict.fromkeys(name for of_topic in known.values() for name in of_topic)
    missing = [name for name in chosen if name not in names]
    if missing:
        raise InputError(f"{place}: no label {missing[0]!r}; the labels are {', '.join(names)}")
    values = {name: {code: of_topic.get(name, "") for code, of_topic in known.items()} for name in names}
    by_class = {name.casefold(): name for name in values}
    kept = chosen or [by_class[name] for name in protocol.scoring.topic_classes if name in by_class]
    kept = kept or [name for name in names if are_words(set(values[name].values()) - {""})]
    return classes_of(topics, {name: values[name] for name in kept})
