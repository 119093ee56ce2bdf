"""The tables of a board of systems, for the command and the page."""

from collections.abc import Sequence
from itertools import combinations

from assay.tables import Cell, Table
from assay_extensions.battles.consistency import consistency
from assay_extensions.battles.ratings import Board, Interval
from assay_extensions.battles.records import Battle


def tables_of(board: Board, repeats: Sequence[Battle] = ()) -> list[Table]:
    """The tables of a board. `repeats` are battles judged again, which count for consistency only."""
    systems, wins = board.outcomes.systems, board.outcomes.wins
    ratings: list[tuple[Cell, ...]] = []
    differences: list[tuple[Cell, ...]] = []
    for number, group in enumerate(board.groups, 1):
        tiers = group.tiers()
        order = sorted(range(len(group.members)), key=lambda n: (-group.theta[n], group.members[n]))
        for n in order:
            place, rating = group.members[n], group.rating(n)
            total = wins[place].sum() + wins[:, place].sum()
            ratings.append(
                (
                    systems[place],
                    number,
                    *_cells(rating),
                    round(total),
                    float(wins[place].sum() / total),
                    tiers[n],
                )
            )
        for n, m in combinations(order, 2):
            names = systems[group.members[n]], systems[group.members[m]]
            differences.append((*names, *_cells(group.difference(n, m))))
    pairs: list[tuple[Cell, ...]] = [
        (systems[first], systems[second], float(wins[first, second]), float(wins[second, first]))
        for first, second in combinations(range(len(systems)), 2)
        if wins[first, second] + wins[second, first]
    ]
    return [
        Table(
            "board",
            "rating by wins (Bradley-Terry), its standard error, and the ends of its 95 % interval: a system that is "
            "400 points ahead of another one wins 10 of 11 battles against it; battles, and the share of them that "
            "were won, where a tie is half a win; systems that share a letter of tier do not differ significantly",
            ("system", "group", "rating", "error", "low", "high", "battles", "share", "tier"),
            ratings,
            "Ratings",
        ),
        Table(
            "differences",
            "difference of two ratings, its standard error, and the ends of its 95 % interval, which is of this pair "
            "alone, while tiers allow for the number of pairs",
            ("system", "other", "difference", "error", "low", "high"),
            differences,
            "Differences",
        ),
        Table(
            "pairs",
            "wins of the first and of the second system against the other, where a tie is half a win of each",
            ("first", "second", "first_wins", "second_wins"),
            pairs,
            "Wins",
        ),
        Table(
            "consistency",
            "battles; ties; share of side A among decided ones; circular triads of all decided ones; battles that an "
            "assessor judged again, and alike; those that two assessors judged, and alike",
            ("battles", "ties", "left", "circular", "triads", "again", "again_alike", "both", "both_alike"),
            [tuple(consistency(board.outcomes.battles, repeats))],
            "Consistency",
        ),
    ]


def _cells(interval: Interval) -> tuple[float, float, float, float]:
    return interval.value, interval.error, interval.low, interval.high
