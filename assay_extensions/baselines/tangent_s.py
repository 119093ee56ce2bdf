"""Formula retrieval in the manner of Tangent-S, the baseline of ARQMath, over SLTs and OPTs.

1. Symbol pairs find candidates for the topic's formula among the distinct trees, for each kind of tree.
2. Maximum subtree similarity gives each candidate three scores.
3. A linear combination joins the six scores of each formula whose SLT or OPT is a candidate; a tree that was not
   compared counts 0. A post has the score of its best formula.

The formula of a question is one in its title, or else in its text: that with the most nodes; a tie is broken at random
with the seed.

The formulas may be limited to those of some posts of each topic: the posts that a pool of questions has for it. So the
pool of an answer task seeds that of a formula task, as in ARQMath-1.

Source: Mansouri, Zanibbi, Oard and Agarwal, "Overview of ARQMath-2 (2021)", sections 4.3 and 5.6,
doi:10.1007/978-3-030-85251-1_17; weights by regression on NTCIR-12: Davila and Zanibbi (2017),
doi:10.1145/3077136.3080748.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.errors import InputError
from assay.formats.topics.facts import TopicFacts
from assay.formats.topics.reader import number_of
from assay.processes import map_fresh, processors
from assay.protocols.schema import Protocol, Unit
from assay.random_draws import stream_starts
from assay.ranking import Progress, Ranked, best, no_progress
from assay_extensions.baselines.formula_index import FormulaIndex
from assay_extensions.baselines.formula_trees import KINDS, Kind, parse
from assay_extensions.baselines.subtree_similarity import similarity
from assay_extensions.baselines.symbol_pairs import candidates

CONSTANT = 0.2930
WEIGHTS: Mapping[Kind, tuple[float, float, float]] = {  # of MSS, precision and recall
    "slt": (0.0861, -0.1694, 1.8469),
    "opt": (0.9657, -0.0153, -0.3301),
}
N_CANDIDATES = {"formula": 2000, "visually-distinct-formula": 2000}  # per kind of tree
N_CANDIDATES_OF_POSTS = 1000
SMALL = 1000  # trees; for a smaller index, starting processes takes longer than comparing
_ID = re.compile(r'<span class="math-container" data-formula-id="([^"]*)"')

Strings = Mapping[Kind, Mapping[str, str]]  # of the formulas of topics, by kind of tree and id


class Query(NamedTuple):
    """The formula of a topic: the string of each of its trees. Without any, nothing is found.

    `posts` are the docnos of the posts whose formulas are ranked; None: all.
    """

    topic: str
    formula: str
    strings: Mapping[Kind, str]
    posts: frozenset[str] | None = None


class Compared(NamedTuple):
    """Candidates of a topic of one kind of tree: (m,) numbers of trees, and (m,) their part of the score."""

    tree: NDArray[np.intp]
    score: NDArray[np.float64]


def check_unit(protocol: Protocol) -> None:
    """Refuse a protocol whose runs do not rank posts or formulas.

    Raises:
        InputError: The runs cite passages.
    """
    if protocol.unit == "passage":
        raise InputError(f"tangent-s ranks posts or formulas, but {protocol.slug} retrieves passages")


def query_of(topic: TopicFacts, strings: Strings, seed: int) -> Query:
    """The formula that represents a topic: its own, or one of its title, or of its text."""
    usual: Kind = next((kind for kind in KINDS if strings.get(kind)), "slt")
    chosen = topic.formula_id
    for html in () if chosen else (topic.title, topic.body):
        nodes = {code: strings[usual].get(code, "").count("[") for code in _ID.findall(html)}
        largest = sorted(code for code, n in nodes.items() if n and n == max(nodes.values()))
        if largest:
            order = stream_starts(seed, ((topic.code.encode(), code.encode()) for code in largest))
            chosen = largest[int(order.argmin())]
            break
    trees = {kind: strings[kind][chosen] for kind in strings if chosen in strings[kind]}
    return Query(topic.code, chosen, trees)


def within(queries: Sequence[Query], pool: Mapping[str, Collection[str]]) -> list[Query]:
    """The queries, each for the formulas of the posts that a pool has for the topic with the same number.

    Args:
        pool: docnos by topic.

    Raises:
        InputError: Two topics of the pool have one number, or none has the number of a query.
    """
    posts: dict[str, frozenset[str]] = {}
    for code in sorted(pool):
        if number_of(code) in posts:
            raise InputError(f"the pool has two topics with the number {number_of(code)}, one of them {code}")
        posts[number_of(code)] = frozenset(pool[code])
    if not any(number_of(query.topic) in posts for query in queries):
        raise InputError(
            f"no topic of the pool has the number of a topic: {', '.join(sorted(pool)[:3])} and "
            f"{', '.join(query.topic for query in queries[:3])}"
        )
    return [query._replace(posts=posts.get(number_of(query.topic), frozenset())) for query in queries]


def tangent_s(
    queries: Sequence[Query],
    folder: Path,
    *,
    unit: Unit,
    depth: int,
    n_candidates: int | None = None,
    processes: int | None = None,
    progress: Progress = no_progress,
) -> Iterator[Ranked]:
    """The formulas, answers or documents of each topic, as the protocol's unit is.

    Args:
        folder: of a `FormulaIndex`.
        n_candidates: trees of each kind that are compared; without it 2,000 for formulas and 1,000 for posts.
        processes: that compare trees; without it one for each processor, or none for a small index.
    """
    index = FormulaIndex(folder)
    k = n_candidates or N_CANDIDATES.get(unit, N_CANDIDATES_OF_POSTS)
    work = partial(compared, folder=folder, k=k)
    if processes is None:
        n_formulas = sum(len(index.trees[kind]) for kind in index.kinds)
        processes = 0 if n_formulas < SMALL else processors()
    compared_topics = map_fresh(work, queries, processes=processes)
    for n, (query, results) in enumerate(compared_topics, 1):
        yield _ranked(query, results, index, unit=unit, depth=depth)
        progress("comparing formulas", n, len(queries))


_opened = cache(FormulaIndex)


def compared(query: Query, *, folder: Path, k: int) -> dict[Kind, Compared]:
    """The first two stages for a topic."""
    index = _opened(folder)
    results: dict[Kind, Compared] = {}
    is_within = _is_within(query, index)
    for kind in index.kinds:
        if kind not in query.strings:
            continue
        tree, weights = parse(query.strings[kind], kind), np.array(WEIGHTS[kind])
        trees = np.arange(len(index.pairs[kind].docno))
        only = None if is_within is None else np.isin(trees, index.trees[kind][is_within])
        rows = candidates(tree, kind, index.pairs[kind], k=k, only=only)
        scores = [similarity(tree, parse(index.string(kind, row), kind), kind) for row in rows.tolist()]
        results[kind] = Compared(rows, np.array(scores).reshape(len(rows), 3) @ weights)
    return results


def _is_within(query: Query, index: FormulaIndex) -> NDArray[np.bool_] | None:
    """(n,) whether each formula is in one of the query's posts; None if all are."""
    if query.posts is None:
        return None
    posts = np.array([docno.encode() for docno in query.posts], dtype=np.bytes_)
    in_posts: NDArray[np.bool_] = np.isin(index.docno, posts)[index.post]
    return in_posts


def _ranked(
    query: Query, results: Mapping[Kind, Compared], index: FormulaIndex, *, unit: Unit, depth: int
) -> Ranked:
    """The third stage: every formula whose SLT or OPT was compared, or the posts with such formulas."""
    topic, is_within = query.topic, _is_within(query, index)
    total = np.full(len(index.formula), CONSTANT)
    is_candidate = np.zeros(len(index.formula), dtype=np.bool_)
    for kind, (trees, scores) in results.items():
        n_trees = len(index.pairs[kind].docno)
        by_tree, is_compared = np.zeros(n_trees + 1), np.zeros(n_trees + 1, dtype=np.bool_)
        by_tree[trees], is_compared[trees] = scores, True
        total += by_tree[index.trees[kind]]  # -1, without a tree: the last place, which is 0
        is_candidate |= is_compared[index.trees[kind]]
    if unit == "answer":
        is_candidate &= index.is_answer
    if is_within is not None:
        is_candidate &= is_within
    rows = np.flatnonzero(is_candidate)
    if unit in N_CANDIDATES:
        posts = index.docno[index.post[rows]]
        return best(topic, index.formula[rows], total[rows], k=depth, post=posts)
    posts, place = np.unique(index.post[rows], return_inverse=True)
    greatest = np.full(len(posts), -np.inf)
    np.maximum.at(greatest, place, total[rows])
    return best(topic, index.docno[posts], greatest, k=depth)
