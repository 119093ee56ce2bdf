"""A board of judges: each judge is compared with people, by its qrels, by its scores of runs, and by its nuggets."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from assay.errors import InputError, Refused
from assay.formats.qrels.columns import QrelsColumns, columns_from
from assay.formats.runs.columns import Ranked
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import ScoreRow, score_hits
from assay.nuggets.files import read_nuggets
from assay.nuggets.lists import NuggetList
from assay.protocols.measures import Measure
from assay.protocols.schema import Average
from assay.tables import Table
from assay_extensions.metaevaluation import banks, qrels
from assay_extensions.metaevaluation.comparison import Comparison, Missing, compare
from assay_extensions.metaevaluation.judgments import kind_of, read_judged
from assay_extensions.metaevaluation.scores import Scores, read_scores, scores_of


@dataclass(frozen=True)
class Judge:
    """A judge with the contents of its files.

    Args:
        key: the number by which the caller knows it.
        source: its file, for messages.
        nuggets: None without a file of them.
    """

    key: int
    tag: str
    source: str
    qrels: QrelsColumns | None = None
    scores: Sequence[Scores] = ()
    nuggets: Sequence[NuggetList] | None = None


@dataclass(frozen=True)
class Truth:
    """A leaderboard of people.

    Args:
        scores: of the runs, by their tags.
        measure, average: of the scores.
        level: the lowest relevant grade; `grades` are those of the protocol.
        names: the tags of runs, by each name that judges may use.
        nuggets: against which people judged answers.
    """

    scores: Scores
    qrels: QrelsColumns
    measure: Measure
    average: Average
    level: int
    grades: Sequence[int]
    names: Mapping[str, str]
    nuggets: Sequence[NuggetList] = ()


@dataclass(frozen=True)
class Options:
    """The arguments of `compare`."""

    missing: Missing = "refuse"
    topics: Sequence[str] = ()
    seed: int = 0


class Result(NamedTuple):
    """A judge on the board by one of its files: a comparison of the order of runs, tables of agreement, or both."""

    judge: int
    source: str
    measure: str
    comparison: Comparison | None
    tables: list[Table]


@dataclass
class Left:
    """The judges, or files of judges, that could not be compared, by their keys and with the reason."""

    rows: list[tuple[int, str]] = field(default_factory=list)

    @contextmanager
    def out(self, judge: int) -> Iterator[None]:
        """Leave out what cannot be compared."""
        try:
            yield
        except (Refused, InputError) as error:
            self.rows.append((judge, str(error)))


def read_judge(
    key: int,
    tag: str,
    source: str,
    files: Iterable[tuple[str, bytes]],
    *,
    kind: str = "",
    form: str = "",
    people: QrelsColumns,
    codes: Collection[str],
) -> Judge:
    """Read the files of a judge, which were checked when they were submitted. Only topics of `people` are kept.

    Args:
        kind: what the files contain, if their names do not say it.
        form: of a table of scores, if it is not detected.
        codes: all topics of the track.
    """
    judge, topics = Judge(key, tag, source), set(people.topics.tolist())
    for name, data in files:
        of_file = kind or kind_of(name)
        if of_file == "qrels":
            rows, _ = read_judged(data, name)
            kept = (
                (row.topic.encode(), row.docno.encode(), row.grade) for row in rows if row.topic in topics
            )
            judge = replace(judge, qrels=columns_from(kept))
        elif of_file == "scores":
            judge = replace(judge, scores=read_scores(data, name, form, codes))
        elif of_file == "nuggets":
            judge = replace(judge, nuggets=read_nuggets(data, name))
    return judge


def results(
    judges: Sequence[Judge],
    truth: Truth,
    rankings: Callable[[], Iterable[tuple[str, Ranked]]],
    judged_by: Callable[[QrelsColumns], JudgedDocuments],
    options: Options,
    left: Left,
    advance: Callable[[int, int, str], object] = lambda *_: None,
) -> Iterator[Result]:
    """Yield the results of each judge.

    Args:
        rankings: the runs of the truth with their tags, as they are scored; called if a judge has qrels.
        judged_by: prepares qrels for scoring.
        left: gets what cannot be compared.
        advance: called with what is done, of how much, and what is done now.
    """
    scored = _scored(judges, truth, rankings, judged_by, left)
    for n, judge in enumerate(judges):
        advance(n, len(judges), f"comparing {judge.tag}")
        tables: list[Table] = []
        if judge.qrels is not None:
            with left.out(judge.key):
                tables = qrels.tables(truth.qrels, judge.qrels, level=truth.level, grades=truth.grades)
        if tables and not scored[judge.key]:
            yield Result(judge.key, "qrels", str(truth.measure), None, tables)
        by_source = [(scores, "qrels") for scores in scored[judge.key]]
        by_source += [(_renamed(scores, truth), "scores") for scores in judge.scores]
        for scores, source in by_source:
            with left.out(judge.key):
                compared = compare(
                    truth.scores,
                    scores,
                    missing=options.missing,
                    topics=options.topics or None,
                    seed=options.seed,
                )
                yield Result(judge.key, source, scores.measure, compared, tables if source == "qrels" else [])
        if judge.nuggets is not None:
            topics = set(options.topics)
            own, people = (
                [nuggets for nuggets in lists if not topics or nuggets.topic in topics]
                for lists in (judge.nuggets, truth.nuggets)
            )
            yield Result(judge.key, "nuggets", "nuggets", None, banks.tables(people, own))


def _scored(
    judges: Sequence[Judge],
    truth: Truth,
    rankings: Callable[[], Iterable[tuple[str, Ranked]]],
    judged_by: Callable[[QrelsColumns], JudgedDocuments],
    left: Left,
) -> dict[int, list[Scores]]:
    """The scores of runs by the qrels of each judge: by its key, none without qrels."""
    judged: dict[int, JudgedDocuments] = {}
    rows: dict[int, list[ScoreRow]] = {judge.key: [] for judge in judges}
    for judge in judges:
        if judge.qrels is not None and len(judge.qrels.topics):
            with left.out(judge.key):
                judged[judge.key] = judged_by(judge.qrels)
    for tag, ranking in rankings() if judged else ():
        for key, documents in [*judged.items()]:
            n_left = len(left.rows)
            with left.out(key):
                scores = score_hits(documents.hits(ranking), documents, [truth.measure])
                rows[key] += scores.rows(documents, [truth.measure], truth.average, per_topic=True, run=tag)
            if len(left.rows) > n_left:
                del judged[key]
    return {
        judge.key: scores_of(rows[judge.key] if judge.key in judged else [], judge.source) for judge in judges
    }


def _renamed(scores: Scores, truth: Truth) -> Scores:
    """The scores of the runs of the truth, by their tags. Other runs of the track may be in them, too."""
    known = {*truth.scores.runs}
    tags = {run: tag for run in scores.runs if (tag := truth.names.get(run, run)) in known}
    return replace(
        scores,
        means={tags[run]: value for run, value in scores.means.items() if run in tags},
        by_topic={tags[run]: values for run, values in scores.by_topic.items() if run in tags},
    )


def truth_of(rows: Iterable[ScoreRow], measure: str) -> Scores:
    """The scores of people by one measure."""
    scores = (row for row in rows if row.measure == measure)
    return next(iter(scores_of(scores, "the leaderboard")), Scores("the leaderboard", measure, {}, {}))


def options_of(missing: str, topics: Sequence[str], seed: int) -> Options:
    return Options(cast("Missing", missing), [*topics], seed)
