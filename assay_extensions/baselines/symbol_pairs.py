"""Symbol pairs: the first stage of Tangent-S, which finds candidates for the second one.

A pair is two symbols of a tree, one below the other by at most four edges, with the letters of these edges. A small
tree also has a pair of each symbol with the end of its line. The score of a candidate is the part of pairs that both
formulas have, as often as both have them (Dice's coefficient of multisets).

Source: as of `subtree_similarity`.
"""

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from assay.ranking import top
from assay_extensions.baselines.formula_trees import Kind, Tree
from assay_extensions.baselines.postings import Postings

WINDOW = 4  # edges
LONGEST = 40  # bytes of a pair as a token; a longer one is a digest
FORWARD = {"slt": "n", "opt": "0"}  # the edge to the end of a line
NOTHING = "0!"


def pairs(tree: Tree, kind: Kind) -> list[bytes]:
    """The symbol pairs of a tree as tokens, each as often as it occurs."""
    tokens = ("\t".join(pair).encode(errors="replace") for pair in _pairs(tree, kind))
    return [
        token if len(token) <= LONGEST else blake2b(token, digest_size=16).hexdigest().encode()
        for token in tokens
    ]


def _pairs(tree: Tree, kind: Kind) -> Iterator[tuple[str, str, str]]:
    is_unordered = [kind == "opt" and label[:2] == "U!" for label in tree.labels]
    for node, other in enumerate(tree.labels):
        path, above = "", node
        for _ in range(WINDOW):
            below, above = above, tree.parents[above]
            if above < 0:
                break
            path = ("0" if is_unordered[above] else tree.edges[below]) + path
            if not (other == "E!" and tree.edges[node] == "w"):
                yield tree.labels[above], other, path
    if not any(tree.children[child] for child in tree.children[0]):
        for node, label in enumerate(tree.labels):
            edges = {"0" if is_unordered[node] else tree.edges[child] for child in tree.children[node]}
            if FORWARD[kind] not in edges and label != "E!":
                yield label, NOTHING, FORWARD[kind]


def candidates(
    tree: Tree, kind: Kind, index: Postings, *, k: int, only: NDArray[np.bool_] | None = None
) -> NDArray[np.intp]:
    """(at most k,) the numbers of the formulas of an index with the highest scores; only those with a common pair.

    Args:
        only: (n,) whether each formula of the index may be a candidate; None: all.
    """
    tokens = pairs(tree, kind)
    common = np.zeros(len(index.docno), dtype=np.int32)
    for number, n in index.numbers_of(tokens).items():
        formulas, frequency = index.documents_with(number)
        common[formulas] += np.minimum(frequency, n)
    rows = np.flatnonzero(common if only is None else common * only)
    score = 2 * common[rows] / (len(tokens) + index.length[rows])
    return rows[top(index.docno[rows], score, k=k)]
