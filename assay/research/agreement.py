"""Agreement of assessors, from files of judgments, qrels, or memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from assay.errors import InputError, plural
from assay.formats.compression import read_file
from assay.formats.judgments.cells import ANSWER_TO
from assay.formats.judgments.columns import Ints, JudgmentColumns
from assay.formats.judgments.graded import graded
from assay.formats.judgments.reader import MAPPED
from assay.formats.topics.reader import read_topics
from assay.formats.topics.subtopics import labels_of
from assay.formats.values import judgments_from
from assay.plots import Interval, intervals
from assay.protocols.loader import load_protocol
from assay.protocols.scales import Scale, scale_named
from assay.protocols.schema import JudgingRules, Protocol
from assay.research.evaluation import PathLike, Values, named_files
from assay.research.results import Figure, Result
from assay.statistics import agreement_report as report
from assay.statistics.agreement import places
from assay.tables import Cell, Table

ANSWER = 3  # the row of answers in the numbers of judgments
ALPHA = "Krippendorff's alpha with nominal, ordinal and interval differences of grades"
COLUMNS = (
    "judgments", "units_judged_twice", *(f"alpha_{metric}" for metric in report.METRICS), "alpha_two_way",
)  # fmt: skip


def agreement(
    judgments: Values,
    *,
    protocol: PathLike | Protocol | None = None,
    level: int | None = None,
    question: str = "",
    topics: PathLike | None = None,
    kinds: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
) -> "Agreement":
    """Measure how far assessors agree, as `assay agreement` does.

    Args:
        judgments: a path or a list of them: exports of judgments, Turkle's results, or qrels, whose assessor is the
            file; or `{assessor: values}`, where the values are a path, `{topic: {docno: grade}}` or a table; or a table
            with the columns topic, docno, assessor and grade. A grade that is nan is a non-answer.
        protocol: with it, keys and labels of its choices are accepted, and it states the level.
        level: the lowest grade of the upper one of two classes; by default, that of the protocol, or 1.
        question: compare the answers to this question of the protocol instead of the grades; of several choices,
            KEY:CHOICE. `topics` is the file of topics, for a question about subtopics.
        kinds: only judgments from batches of these kinds.
        columns: the column of a file for a field, such as {"topic": "Input.qid"}, where its name does not tell.

    Raises:
        InputError: A file is not a file of judgments, or a row is wrong.
    """
    unknown = next(
        (field for field in columns or () if field not in MAPPED and not field.startswith(ANSWER_TO)), None
    )
    if unknown is not None:
        accepted = f"{', '.join(MAPPED)} and {ANSWER_TO}KEY of a question"
        raise InputError(f"columns: there is no field {unknown!r}; the fields are {accepted}")
    rules = load_protocol(str(protocol)) if isinstance(protocol, (str, Path)) else protocol
    if question and rules is None:
        raise InputError("--question needs --protocol, which has the choices of the question")
    scale = Scale("", "Grade", 1) if rules is None else scale_named(rules, question)
    read = _read(judgments, rules.judging if rules else None, columns or {})
    rows = read.numbers()
    of_rows = np.array([answer.kind for answer in read.answers], dtype=np.object_)[rows[ANSWER]]
    known = sorted(set(of_rows.tolist()) - {""})
    for kind in kinds:
        if kind not in known:
            named = f"the kinds are {', '.join(known)}" if known else "no file has a column kind"
            raise InputError(f"--kind: no batch of the kind {kind!r}; {named}")
    rows = rows[:, np.isin(of_rows, list(kinds))] if kinds else rows
    last = _last(rows)
    has_grade = np.array([answer.grade is not None for answer in read.answers], dtype=np.bool_)
    return Agreement(
        _numbered(last, read, scale, rules, _subtopics(topics, scale)),
        level or scale.level,
        scale,
        n_without_grade=int((~has_grade[last[ANSWER]]).sum()),
        n_repeated=rows.shape[1] - last.shape[1],
    )


def _last(rows: Ints) -> Ints:
    """The last judgment of each assessor for each unit, sorted by topic, document and assessor."""
    topic, docno, assessor, _ = rows
    key = (topic * (docno.max(initial=0) + 1) + docno) * (assessor.max(initial=0) + 1) + assessor
    _, from_end = np.unique(key[::-1], return_index=True)
    return rows[:, len(key) - 1 - from_end]


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Result):
    """The agreement of assessors. Its tables are `all`, `alpha`, `ac`, `pairs`, `assessors` and `topics`."""

    graded: report.Graded
    level: int
    scale: Scale
    n_without_grade: int
    n_repeated: int

    @property
    def why_not_compared(self) -> str:
        """Return why nothing is compared; empty if a unit has grades from two assessors."""
        if self.graded.n_shared_units:
            return ""
        n, n_assessors = len(self.graded.unit), len(self.graded.assessors)
        text = "no unit has grades from two assessors, so there is no agreement: "
        text += f"{plural(n, 'grade')} by {plural(n_assessors, 'assessor')}"
        text += (
            f", {plural(self.n_without_grade, 'judgment')} without a grade" if self.n_without_grade else ""
        )
        return text + ("; give several files, or a file with several assessors" if n_assessors < 2 else "")

    @cached_property
    def tables(self) -> list[Table]:
        """Alpha and AC of all, with intervals; kappa of every two and by assessor; alpha by topic."""
        judgments, level, scale = self.graded, self.level, self.scale
        prefix = f"“{scale.label}” ({scale.numbers}): " if scale.key else ""
        of_all = (len(judgments.assessors), *_alphas(judgments, level), self.n_without_grade, self.n_repeated)
        own = [
            Table(
                "all",
                f"{prefix}{ALPHA}; two-way from grade {level}; without non-answers, and without "
                "earlier judgments by the same assessor",
                ("judges", *COLUMNS, "without_grade", "repeated"),
                [of_all],
            ),
            Table(
                "topics",
                f"{ALPHA}; two-way from grade {level}",
                ("topic", *COLUMNS),
                [(code, *_alphas(judgments.for_topic(n), level)) for n, code in enumerate(judgments.topics)],
            ),
        ]
        overall, topics = map(report.without_order, own) if scale.is_nominal else own
        others = report.tables(judgments, level, is_nominal=scale.is_nominal)
        return [overall, *islice(others, 4), topics]  # its own table of topics also counts judgments

    def plot(self) -> Figure:
        """Cohen's kappa of every two assessors, with its interval."""
        rows = [
            Interval(f"{pair.first}, {pair.second}", pair.kappa.value, *pair.kappa.interval())
            for pair in report.pairs(self.graded, self.level)
            if not pair.reason
        ]
        return Figure(
            intervals(
                "kappa", "Kappa of every two assessors with its 95 % interval", rows, across="Cohen's kappa"
            )
        )


def _alphas(judgments: report.Graded, level: int) -> tuple[Cell, ...]:
    return (
        len(judgments.unit),
        judgments.n_shared_units,
        *map(judgments.patterns().alpha, report.METRICS),
        judgments.patterns(level).alpha("nominal"),
    )


def _subtopics(topics: PathLike | None, scale: Scale) -> dict[str, list[str]]:
    """The numbers of the subtopics of each topic, for a question about them.

    Raises:
        InputError: The question is about subtopics, and there is no file of topics; or the reverse.
    """
    if not scale.is_of_subtopics:
        if topics:
            raise InputError("--topics is only for a --question about subtopics")
        return {}
    if not topics:
        raise InputError(f"--question {scale.key} is about subtopics: name the file of topics with --topics")
    read = read_topics(read_file(str(topics)), str(topics))
    return {topic.code: [*labels_of(topic.subtopics)] for topic in read}


def _numbered(
    rows: Ints,
    read: JudgmentColumns,
    scale: Scale,
    protocol: Protocol | None,
    subtopics: Mapping[str, Sequence[str]],
) -> report.Graded:
    """The numbers of the judgments on a scale. Equal answers about a topic have equal ones."""
    topic, docno, assessor, answer = rows
    codes: list[str] = list(read.topics)
    names: dict[str, int] = {}
    distinct, place = np.unique(topic * len(read.answers) + answer, return_inverse=True)
    numbers, counts = [], []
    for pair in distinct.tolist():
        of_topic, of_answer = divmod(pair, len(read.answers))
        code, row = codes[of_topic], read.answers[of_answer]
        if protocol is None or not scale.key:
            own = [] if row.grade is None else [(code, row.grade)]
        else:
            answered = (row.choice, row.grade, row.answers)
            own = list(scale.numbered(protocol.judging, code, subtopics.get(code, ()), *answered))
        numbers += [(names.setdefault(name, len(names)), number) for name, number in own]
        counts.append(len(own))
    n_rows = np.array(counts, dtype=np.int64)
    ends = np.cumsum(n_rows[place])
    within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - n_rows[place], n_rows[place])
    item = np.repeat((np.cumsum(n_rows) - n_rows)[place], n_rows[place]) + within
    topic, grade = np.array(numbers, dtype=np.int64).reshape(-1, 2)[item].T
    docno, assessor = (np.repeat(column, n_rows[place]) for column in (docno, assessor))
    unit = places(topic * (docno.max(initial=0) + 1) + docno)[1]
    topics, topic = _sorted(list(names), topic)
    assessors, assessor = _sorted(list(read.assessors), assessor)
    values = scale.values(protocol.judging) if protocol else tuple(np.unique(grade).tolist())
    return report.Graded(assessors, topics, unit, topic, assessor, grade, values)


def _sorted(names: Sequence[str], number: Ints) -> tuple[list[str], Ints]:
    """The names that occur, sorted, and the place among them of each number."""
    used = sorted(np.unique(number).tolist(), key=names.__getitem__)
    place = np.zeros(len(names), dtype=np.int64)
    place[used] = np.arange(len(used))
    return [names[n] for n in used], place[number]


def _read(judgments: Values, rules: JudgingRules | None, columns: Mapping[str, str]) -> JudgmentColumns:
    """The current judgments of all files and values, with their grades.

    Raises:
        InputError: A file is not a file of judgments. The message names the lines.
    """
    read = JudgmentColumns()
    if isinstance(judgments, (str, Path)):
        judgments = [judgments]
    if isinstance(judgments, Sequence) and judgments and not hasattr(judgments[0], "_fields"):
        refusal = "a list has a {}, which has no assessor; give judgments as {{assessor: values}}"
        judgments = named_files(judgments, refusal)
    if not isinstance(judgments, Mapping):
        read.add(graded(judgments_from(judgments), rules, "judgments", is_named=False))
        return read
    for judge, values in judgments.items():
        if isinstance(values, (str, Path)):
            read.read(str(values), rules, judge=str(judge), columns=columns)
        else:
            of_judge = judgments_from(values, judge=str(judge), name=str(judge))
            read.add(graded(of_judge, rules, str(judge), is_named=False))
    return read
