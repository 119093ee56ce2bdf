"""The board of systems of a leaderboard: rated by the battles whose judgments its qrels were frozen from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpResponseBase

from accounts.access import AnyUser
from assay.formats.spreadsheet import as_csv
from assay.pools.answers import answers_of
from assay.qrels.freezing import ALWAYS
from assay.tables import Cell, Table, as_tsv, text_of
from assay_extensions.battles.board_tables import tables_of
from assay_extensions.battles.consistency import Consistency, consistency
from assay_extensions.battles.pooling import battles_of, by_topic
from assay_extensions.battles.ratings import Board, rate
from assay_extensions.battles.records import FORMS, Battle
from assessment.judgments.pairs import votes_of
from assessment.models import Batch, Judgment, TopicAssignment
from pooling.runs.names import names_for
from scoring.evaluations.selectors import named
from scoring.evaluations.stored_runs import columns_of
from scoring.models import Leaderboard
from scoring.selectors import LeaderboardPage, shared_page
from scoring.stored_analyses import evaluated
from web.downloads import download
from web.tables import MAX_OPEN_ROWS, ShownTable

PRIOR = "0.5"  # of the command, offered where systems have no rating
PRIORS = {"": 0.0, PRIOR: float(PRIOR)}  # by what an address has
MOST_IN_MATRIX = 20  # systems; the table of pairs has all


@dataclass(frozen=True, kw_only=True)
class Battles:
    """The battles that count, and the hidden repeats of some of them, both with the tags of runs as systems."""

    counted: Sequence[Battle]
    repeats: Sequence[Battle]
    prior: float = 0.0

    @property
    def board(self) -> Board | None:
        """None without battles."""
        return rate(self.counted, prior=self.prior) if self.counted else None

    @property
    def tables(self) -> list[Table]:
        board = self.board
        return [] if board is None else tables_of(board, self.repeats)


def has_battles(board: Leaderboard) -> bool:
    """Return whether the qrels are frozen from battles of answers."""
    judged = board.track.protocol.parsed.judged
    return judged.has_votes and judged.is_blind and "judgments" in board.qrels.report


def battles_behind(user: AnyUser, board: Leaderboard, *, prior: float = 0.0) -> Battles:
    """The battles of the runs of a leaderboard, under the names that a user may read.

    Args:
        prior: that of `rate`.

    Raises:
        Http404: Its qrels are not frozen from battles.
    """
    if not has_battles(board):
        raise Http404
    report = board.qrels.report
    runs = [evaluation.run for evaluation in named(names_for(user, board.track), evaluated(board))]
    systems_of = by_topic({run.tag: answers_of(columns_of(run)) for run in runs})
    numbers = Q(pk__in=[])
    for first, last in report["judgments"]:
        numbers |= Q(pk__range=(first, last))
    kinds = [Batch.Kind.MACHINE] if board.qrels.machine_id else [*ALWAYS, *report.get("also", ())]
    frozen = Judgment.objects.filter(numbers, track=board.track_id, batch__kind__in=kinds)
    own = {name: OuterRef(name) for name in ("batch", "topic", "assessor")}
    if not board.qrels.machine_id:
        frozen = frozen.filter(Exists(TopicAssignment.objects.filter(**own, is_withdrawn=False)))
    decided = frozen.filter(
        batch__kind=Batch.Kind.ADJUDICATION, topic=OuterRef("topic"), docno=OuterRef("docno")
    )
    frozen = frozen.filter(Q(batch__kind=Batch.Kind.ADJUDICATION) | ~Exists(decided))
    judges = frozen.order_by().values("assessor")
    again = Judgment.objects.filter(
        track=board.track_id, is_check=True, replaced_by=None, assessor__in=judges, batch__kind__in=kinds
    ).exclude(pk__in=frozen.order_by().values("pk"))
    return Battles(
        counted=battles_of(votes_of(frozen), systems_of),
        repeats=battles_of(votes_of(again), systems_of),
        prior=prior,
    )


def prior_named(text: str) -> float:
    """The wins each way that are added between all systems, as an address names them.

    Raises:
        Http404: The site does not offer them.
    """
    if text not in PRIORS:
        raise Http404
    return PRIORS[text]


def table_file(user: AnyUser, board: Leaderboard, name: str, kind: str, *, prior: float = 0.0) -> str:
    """A table as TSV or CSV.

    Raises:
        Http404: There is no such table.
    """
    for table in battles_behind(user, board, prior=prior).tables:
        if table.name == name:
            rows = [[text_of(cell) for cell in row] for row in table.rows]
            return as_csv(table.header, rows) if kind == "csv" else as_tsv(table.header, rows)
    raise Http404


def battles_download(user: AnyUser, board: Leaderboard, form: str) -> HttpResponseBase:
    """The battles with their assessors, as a file of one of `FORMS`."""
    content = FORMS[form].write(battles_behind(user, board).counted)
    return download(content, f"{board.track.slug}-leaderboard-{board.pk}-battles.{FORMS[form].ending}")


def _shown(table: Table) -> ShownTable:
    is_number = [all(not isinstance(row[n], str) for row in table.rows) for n in range(len(table.header))]
    return ShownTable(
        table.name,
        table.title,
        table.description,
        [(name.replace("_", " "), number) for name, number in zip(table.header, is_number, strict=True)],
        [
            [
                (_text(name, cell), not isinstance(cell, str))
                for name, cell in zip(table.header, row, strict=True)
            ]
            for row in table.rows
        ],
        len(table.rows) > MAX_OPEN_ROWS,
    )


def _text(name: str, cell: Cell) -> str:
    """A cell with as many digits as its column needs."""
    if not isinstance(cell, float):
        return text_of(cell)
    digits = ".2f" if name in {"share", "left"} else "g" if name.endswith("wins") else ",.0f"
    return f"{cell:{digits}}" if isfinite(cell) else ""


@dataclass(frozen=True, kw_only=True)
class BoardPage(LeaderboardPage):
    """`wins` has a row for each system, with its share of the wins against each other one; empty if they are many."""

    tables: Mapping[str, ShownTable]
    counts: Consistency | None
    left: str  # the share of answers on the left that won
    unrated: Sequence[str]
    n_groups: int
    prior: float
    offered: str = PRIOR
    systems: Sequence[str]
    wins: Sequence[tuple[str, Sequence[str]]]


def board_page(user: AnyUser, board: Leaderboard, *, prior: float = 0.0) -> BoardPage:
    battles = battles_behind(user, board, prior=prior)
    rated = battles.board
    systems, wins = _matrix(rated) if rated else ([], [])
    counts = consistency(battles.counted, battles.repeats) if rated else None
    return BoardPage(
        **vars(shared_page(user, board)),
        tables={table.name: _shown(table) for table in battles.tables},
        counts=counts,
        left=f"{100 * counts.left:.0f} %" if counts and isfinite(counts.left) else "",
        unrated=rated.unrated if rated else [],
        n_groups=sum(len(group.members) > 1 for group in rated.groups) if rated else 0,
        prior=prior,
        systems=systems,
        wins=wins,
    )


def _matrix(board: Board) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The systems, best first, each with its wins and losses against the others; a tie counts as half of each."""
    order = [
        group.members[n]
        for group in board.groups
        for n in sorted(range(len(group.members)), key=lambda n: (-group.theta[n], n))
    ]
    if len(order) > MOST_IN_MATRIX:
        return [], []
    names, wins = board.outcomes.systems, board.outcomes.wins
    rows = [
        (
            names[row],
            [
                f"{wins[row, other]:g} : {wins[other, row]:g}" if wins[row, other] + wins[other, row] else ""
                for other in order
            ],
        )
        for row in order
    ]
    return [names[place] for place in order], rows
