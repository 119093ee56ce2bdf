"""Maximum subtree similarity (MSS) of two formulas, as Tangent-S ranks its candidates.

Two nodes are *alignable* if their labels are equal, or have the same type and may replace each other. From each pair
of alignable nodes, both trees are walked in parallel. Nodes match *exactly* if their labels are equal, and else by
*unification*: variables one to one, by name. The pair of starting nodes whose matched nodes are the largest part of the
topic's formula, and most connected, counts.

Source: Zanibbi, Davila, Kane and Tompa, "Multi-stage math formula search" (SIGIR 2016), doi:10.1145/2911451.2911512;
Davila and Zanibbi, "Layout and semantics" (SIGIR 2017), doi:10.1145/3077136.3080748; and the behavior of the published
program.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from assay_extensions.baselines.formula_trees import Kind, Tree

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_SIZE = re.compile(r"(\d{1,9})x(\d{1,9})\Z")
_SAME_EDGE = frozenset("naboucd")
_IN_ORDER = frozenset("DVSLR")  # kinds of OPT structures whose children correspond in order

Pair = tuple[int, int]  # a node of the topic's formula, and one of the candidate


class Similarity(NamedTuple):
    """MSS, the matched part of the candidate, and the exactly matched part of the topic's formula. Larger is better."""

    mss: float = 0.0
    precision: float = 0.0
    recall: float = 0.0


class _Walk(NamedTuple):
    """The pairs of a walk: matched exactly, by unification, and variables whose names are not unified yet."""

    exact: list[Pair]
    unified: list[Pair]
    variables: list[Pair]

    @property
    def rank(self) -> Pair:
        n_exact = len(self.exact)
        return -(n_exact + len(self.unified) + len(self.variables)), -n_exact


def similarity(query: Tree, candidate: Tree, kind: Kind) -> Similarity:
    """The maximum subtree similarity of a topic's formula and a candidate; zeros if no nodes are alignable."""
    walk = _slt_walker(query, candidate) if kind == "slt" else _OptWalker(query, candidate)
    best = Similarity()
    seen: set[Pair] = set()
    others = set(candidate.labels)
    for q, label in enumerate(query.labels):
        alignable = {other for other in others if is_alignable(label, other)}
        for c, other in enumerate(candidate.labels):
            if other in alignable and (q, c) not in seen:
                exact, unified = _unify(walk(q, c), query, candidate)
                seen.update(exact, unified)
                if _is_enough(len(exact) + len(unified), len(query), best):
                    best = max(best, _score(exact, unified, query, candidate))
    return best


def _is_enough(n: int, n_query: int, best: Similarity) -> bool:
    """Return whether so many matched nodes, if all were connected, would be as similar as the best so far."""
    return 2 * n >= best.mss * (n + n_query) * (1 - 1e-9)


def is_alignable(query: str, candidate: str) -> bool:
    """Return whether a label of the topic's formula may match one of the candidate."""
    if query == candidate:
        return True
    if query[1:2] != "!" or candidate[1:2] != "!" or query[:1] != candidate[:1] or query[0] in "OU":
        return False
    if query[0] == "V":
        return len(query) == len(candidate) or 3 not in {len(query), len(candidate)}
    return query[0] != "N" or _NUMBER.fullmatch(candidate[2:]) is not None


def _place(walk: _Walk, q: int, c: int, query: Tree, candidate: Tree) -> None:
    """Add a pair of nodes to the pairs of a walk."""
    label, other = query.labels[q], candidate.labels[c]
    if is_alignable(label, other):
        if label[:2] == "V!" == other[:2]:
            walk.variables.append((q, c))
        elif label == other:
            walk.exact.append((q, c))
        else:
            walk.unified.append((q, c))


def _slt_walker(query: Tree, candidate: Tree) -> Callable[[int, int], _Walk]:
    def walk(q: int, c: int) -> _Walk:
        pairs = _Walk([], [], [])
        waiting = [(q, c)]
        while waiting:
            q, c = waiting.pop()
            _place(pairs, q, c, query, candidate)
            waiting += _slt_children(q, c, query, candidate)
        return pairs

    return walk


def _slt_children(q: int, c: int, query: Tree, candidate: Tree) -> Iterator[Pair]:
    """The pairs of children that correspond: by the same edge, and the elements of two structures."""
    label, other = query.labels[q], candidate.labels[c]
    are_structures = label[:2] == "M!" == other[:2]
    for child in query.children[q]:
        edge = query.edges[child]
        if edge in _SAME_EDGE or (edge == "w" and not are_structures):
            same = candidate.child(c, edge)
            if same >= 0:
                yield child, same
    if are_structures:
        yield from _elements_in_pairs(q, c, query, candidate)


def _elements_in_pairs(q: int, c: int, query: Tree, candidate: Tree) -> Iterator[Pair]:
    mine, others = _elements(query, q), _elements(candidate, c)
    size, other_size = _size(query.labels[q]), _size(candidate.labels[c])
    if 1 in size and 1 in other_size:
        yield from zip(mine, others, strict=False)
        return
    by_cell = _by_cell(others, other_size)
    for cell, node in _by_cell(mine, size).items():
        if cell in by_cell:
            yield node, by_cell[cell]


def _by_cell(elements: list[int], size: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Elements by row and column. A label may claim any size, so only the cells that have elements are looked at."""
    rows, columns = size
    return {divmod(n, columns): node for n, node in enumerate(elements[: rows * columns])}


def _elements(tree: Tree, node: int) -> list[int]:
    """The elements of a structure of an SLT, row by row."""
    elements = []
    element = tree.child(node, "w")
    while element >= 0:
        elements.append(element)
        element = tree.child(element, "e")
    return elements


def _size(label: str) -> tuple[int, int]:
    """Rows and columns of a structure of an SLT; a row without elements if it states none."""
    match = _SIZE.search(label)
    return (int(match[1]), int(match[2])) if match else (1, 0)


class _OptWalker:
    """Walks of two operator trees. A pair of nodes has the same walk below each start, so it is walked once."""

    def __init__(self, query: Tree, candidate: Tree) -> None:
        self._query, self._candidate = query, candidate
        self._done: dict[Pair, _Walk] = {}

    def __call__(self, q: int, c: int) -> _Walk:
        if (q, c) not in self._done:
            pairs = _Walk([], [], [])
            _place(pairs, q, c, self._query, self._candidate)
            for below in self._below(q, c):
                for mine, others in zip(pairs, below, strict=True):
                    mine += others
            self._done[q, c] = pairs
        return self._done[q, c]

    def _below(self, q: int, c: int) -> Iterator[_Walk]:
        """The walks of the children that correspond."""
        label, other = self._query.labels[q], self._candidate.labels[c]
        mine, others = self._query.children[q], self._candidate.children[c]
        are_structures = label[:2] == "M!" == other[:2]
        if are_structures and label[:3] != other[:3]:
            return iter(())
        if are_structures and label[2:3] == "M":
            return self._rows(mine, others)
        if are_structures and label[2:3] not in _IN_ORDER:
            return iter(())
        if label == other and label[:2] == "U!":
            return self._best_pairs(mine, others)
        return self._in_order(mine, others)

    def _in_order(self, mine: list[int], others: list[int]) -> Iterator[_Walk]:
        return (self(*pair) for pair in zip(mine, others, strict=False))

    def _rows(self, mine: list[int], others: list[int]) -> Iterator[_Walk]:
        """Rows of a matrix, which match exactly, and their cells."""
        for row, other in zip(mine, others, strict=False):
            yield _Walk([(row, other)], [], [])
            yield from self._in_order(self._query.children[row], self._candidate.children[other])

    def _best_pairs(self, mine: list[int], others: list[int]) -> Iterator[_Walk]:
        """Children of an unordered operator: the pairs with most matches first, each child once."""
        pairs = product(range(len(mine)), range(len(others)))
        taken: set[int] = set()
        taken_others: set[int] = set()
        for _, i, j in sorted((self(mine[i], others[j]).rank, i, j) for i, j in pairs):
            if i not in taken and j not in taken_others:
                taken.add(i)
                taken_others.add(j)
                yield self(mine[i], others[j])


def _unify(walk: _Walk, query: Tree, candidate: Tree) -> tuple[list[Pair], list[Pair]]:
    """The pairs that match exactly, and those by unification, once names of variables are unified one to one."""
    if not walk.variables:
        return walk.exact, walk.unified
    names = [(query.labels[q], candidate.labels[c]) for q, c in walk.variables]
    counts = Counter(names)
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name, other in sorted(
        counts, key=lambda pair: (counts[pair], pair[0] == pair[1], pair), reverse=True
    ):
        if name not in chosen and other not in taken:
            chosen[name] = other
            taken.add(other)
    exact, unified = list(walk.exact), list(walk.unified)
    for pair, (name, other) in zip(walk.variables, names, strict=True):
        if chosen.get(name) == other:
            (exact if name == other else unified).append(pair)
    return exact, unified


def _score(exact: list[Pair], unified: list[Pair], query: Tree, candidate: Tree) -> Similarity:
    matched = {q for q, _ in exact} | {q for q, _ in unified}
    n, n_query = len(exact) + len(unified), len(query)
    if not n:
        return Similarity()
    n_edges = sum(query.parents[node] in matched for node in matched)
    symbols = n / n_query
    edges = (n_edges or 0.5) / (n_query - 1) if n_query > 1 else 1.0
    return Similarity(2 * symbols * edges / (symbols + edges), n / len(candidate), len(exact) / n_query)
