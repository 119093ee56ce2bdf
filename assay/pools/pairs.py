"""Pairs of pooled documents as units of a pool, if a protocol judges preferences.

The docno of a pair is `first|second`, the two docnos in the order of their bytes. A run contributes the pairs of the
documents that it contributes; its rank is that of the better one.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

from assay.errors import InputError
from assay.pools.depth import PooledUnits, Top, union
from assay.pools.next_pairs import Pair, Tournament, pooled_best
from assay.preferences.votes import Vote, by_topic, parse_votes
from assay.protocols.pair_rules import figures_of
from assay.protocols.schema import PairRules
from assay.protocols.units import SIGN, pair_docno

Ranks = Mapping[str, Mapping[int, int]]  # of the documents of a topic: the rank in each run


def _chosen(topic: str, ranks: Ranks, votes: Sequence[Vote], rules: PairRules, seed: int) -> list[Pair]:
    """The pairs of a topic to judge next, by the selection of the protocol."""
    if rules.selection == "all":
        return list(combinations(sorted(ranks), 2))
    if rules.selection == "tournament":
        tournament = Tournament(**figures_of(rules), seed=seed)
        return tournament.plan(topic, dict.fromkeys(ranks, 1), votes).pairs
    rankings: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    for docno, of_runs in ranks.items():
        for run, rank in of_runs.items():
            rankings[run].append((rank, docno))
    return pooled_best([[docno for _, docno in sorted(rankings[run])] for run in sorted(rankings)], votes)


def votes_in(text: str) -> list[Vote]:
    """The votes of lines that a pool keeps."""
    return parse_votes(text, "votes") if text else []


def pool_pairs(units: PooledUnits, votes: Sequence[Vote], rules: PairRules, seed: int) -> PooledUnits:
    """The pairs of the pooled documents of each topic that are to be judged next, after some votes.

    Raises ValueError: the docno of a document has the sign between the documents of a pair.
    """
    # The documents of each topic with their ranks by run.
    ranks: list[dict[str, dict[int, int]]] = [{} for _ in units.topics]
    docnos, topics = [docno.decode() for docno in units.docno.tolist()], units.topic_index.tolist()
    for docno in docnos:
        if SIGN in docno:
            raise InputError(f"the document {docno} cannot be in a pair, because its id has the sign {SIGN}")
    for entry, run, rank in zip(units.entry.tolist(), units.run.tolist(), units.rank.tolist(), strict=True):
        ranks[topics[entry]].setdefault(docnos[entry], {})[run] = rank
    of_topics = by_topic(votes)
    tops: list[list[tuple[int, bytes, int]]] = [[] for _ in range(units.n_runs)]
    for topic, code in enumerate(units.topics.tolist()):
        known = ranks[topic]
        own = [vote for vote in of_topics.get(code, ()) if set(vote.pair) <= known.keys()]
        for first, second in _chosen(code, known, own, rules, seed):
            pair = pair_docno(first, second).encode()
            for run in known[first].keys() | known[second].keys():
                rank = min(known[docno][run] for docno in (first, second) if run in known[docno])
                tops[run].append((topic, pair, rank))
    return union(list(map(Top.of, tops)), units.topics)
