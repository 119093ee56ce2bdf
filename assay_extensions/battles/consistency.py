"""Contradictions between battles: sides, circles, repeats and assessors."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from assay.statistics.agreement import cohen_kappa
from assay.tables import Undefinable
from assay_extensions.battles.ratings import Outcomes
from assay_extensions.battles.records import BOTH_BAD, TIE, A, B, Battle


class Consistency(NamedTuple):
    """Counts of battles. A *repeat* is a battle of the same pair and topic; battles without a topic have none."""

    battles: int
    ties: int  # with those of two bad answers
    left: Undefinable  # share of the answers on side A among the decided battles
    circular: int  # triads of systems of which each won more often against the next one
    triads: int  # triads whose three pairs are decided
    own_repeats: int  # pairs of battles of one assessor
    own_alike: int  # those with the same preference
    repeats: int  # pairs of battles of two assessors
    alike: int  # those with the same preference


def consistency(battles: Sequence[Battle], repeats: Sequence[Battle] = ()) -> Consistency:
    """Count what `Consistency` has. `repeats` are hidden repeats, which count for sides and agreement only."""
    every = [*battles, *repeats]
    decided = [battle for battle in battles if battle.winner in {A, B}]
    sides = [battle.winner for battle in every if battle.winner in {A, B}]
    wins = Outcomes(battles).wins
    ahead = np.sign(wins - wins.T)
    triads = circular = 0
    for first, second, third in combinations(range(len(ahead)), 3):
        signs = ahead[first, second], ahead[second, third], ahead[third, first]
        triads += int(all(signs))
        circular += int(abs(sum(signs)) == 3)
    own, other = _repeats(every)
    left = sides.count(A) / len(sides) if sides else np.nan
    return Consistency(
        len(battles),
        len(battles) - len(decided),
        left,
        circular,
        triads,
        len(own),
        sum(own),
        len(other),
        sum(other),
    )


class Agreement(NamedTuple):
    """Battles that two judges both decided: the same topic and systems, on either side."""

    battles: int
    alike: int  # with the same preference
    kappa: Undefinable  # Cohen's


def agreement_of(first: Sequence[Battle], second: Sequence[Battle]) -> Agreement:
    """Compare two judges, such as people and a program. Several judgments of a battle count once for each pair."""
    words: defaultdict[tuple[str, tuple[str, str]], list[int]] = defaultdict(list)
    for battle in second:
        words[battle.topic, battle.pair].append(_outcome(battle))
    both = [
        (_outcome(battle), other) for battle in first for other in words.get((battle.topic, battle.pair), ())
    ]
    columns = np.array(both, dtype=np.int64).reshape(-1, 2)
    alike = int((columns[:, 0] == columns[:, 1]).sum())
    return Agreement(len(both), alike, cohen_kappa(columns[:, 0], columns[:, 1]).value)


def _outcome(battle: Battle) -> int:
    return [*battle.pair, TIE, BOTH_BAD].index(battle.preferred)


def _repeats(battles: Sequence[Battle]) -> tuple[list[bool], list[bool]]:
    """For each two battles with the same topic and systems, whether they are alike: of one assessor, of two."""
    same: defaultdict[tuple[str, tuple[str, str]], list[Battle]] = defaultdict(list)
    for battle in battles:
        if battle.topic:
            same[battle.topic, battle.pair].append(battle)
    own: list[bool] = []
    other: list[bool] = []
    for group in same.values():
        for battle, again in combinations(group, 2):
            (own if battle.assessor == again.assessor else other).append(battle.preferred == again.preferred)
    return own, other
