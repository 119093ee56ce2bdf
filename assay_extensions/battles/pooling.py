"""The pool strategy `battles`: pairs of the answers to a topic, drawn so that each system has about as many.

Equal answers count as one answer and never meet. A pool that tops up another one contains only new battles, and begins
with those whose outcome is least certain given the judgments so far.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import product

import numpy as np

from assay.formats.runs.columns import RunColumns
from assay.pools.answers import answers_of
from assay.pools.depth import Top, reach_of_rows, topics_of, union
from assay.pools.strategies import BuiltPool, Material, PoolError
from assay.preferences.votes import TIE, Vote
from assay.protocols.units import documents_of, pair_docno
from assay_extensions.battles.drawing import doubts, draw_pairs
from assay_extensions.battles.ratings import rate
from assay_extensions.battles.records import BOTH_BAD, A, B, Battle
from assay_extensions.battles.records import TIE as LEVEL

Systems = Mapping[str, Sequence[str]]  # that gave each answer to a topic
ByTopic = Mapping[str, Systems]


def battles_of(votes: Sequence[Vote], systems_of: ByTopic) -> list[Battle]:
    """The battles that follow from votes on answers: one for each pair of systems that wrote the two answers."""
    battles = []
    for vote in votes:
        of_topic = systems_of.get(vote.topic, {})
        winner = {vote.left: A, vote.right: B, TIE: LEVEL}.get(vote.winner, BOTH_BAD)
        for left, right in product(of_topic.get(vote.left, ()), of_topic.get(vote.right, ())):
            battles.append(Battle(vote.topic, left, right, winner, vote.assessor))
    return battles


def by_topic(answers: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, list[str]]]:
    """The systems of each answer by topic, from the answers of each system."""
    systems_of: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)
    for system, of_system in answers.items():
        for topic, docno in of_system.items():
            systems_of[topic].setdefault(docno, []).append(system)
    return dict(systems_of)


def build(runs: Sequence[RunColumns], depths: Sequence[int], material: Material) -> BuiltPool:
    """Draw `pool.target` battles of each topic among the runs whose depth is above 0."""
    codes = topics_of(runs)
    answers = {f"{n:04}": answers_of(run) for n, run in enumerate(runs) if depths[n]}
    systems_of = by_topic(answers)
    battles = battles_of(material.votes, systems_of)
    doubt = doubts(rate(battles)) if battles else {}
    tops: list[list[tuple[int, bytes, int]]] = [[] for _ in runs]
    for topic, code in enumerate(codes.tolist()):
        docno_of = {systems[0]: docno for docno, systems in systems_of.get(code, {}).items()}
        system_of = {docno: system for system, docno in docno_of.items()}
        earlier = [documents_of(docno) or () for docno in material.already.get(code, ())]
        done = {tuple(sorted(system_of.get(docno, "") for docno in pair)) for pair in earlier}
        for pair in draw_pairs(
            code,
            list(docno_of),
            n=material.protocol.pool.target or 0,
            seed=str(material.seed),
            doubt=doubt,
            done=done,
        ):
            docnos = [docno_of[system] for system in pair]
            for system in {system for docno in docnos for system in systems_of[code][docno]}:
                tops[int(system)].append((topic, pair_docno(*docnos).encode(), 1))
    if not any(tops):
        raise PoolError(
            "no new battles: on every topic, any two runs with different answers have already met"
        )
    units = union([Top.of(sorted(top)) for top in tops], codes)
    reach = np.minimum(reach_of_rows(runs, depths, units.topics), 1).astype(np.int32)
    return BuiltPool(units, reach)
