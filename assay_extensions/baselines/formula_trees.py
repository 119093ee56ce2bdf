"""Trees of formulas from their strings: Symbol Layout Trees (SLT) and operator trees (OPT).

`[label` begins a node, `]` ends it. In an SLT, a child without a letter follows by n; the other children have the
letter of their edge. In an OPT, the children are numbered: 0 to 9, A to Z, a to z.
"""

from dataclasses import dataclass
from typing import Literal

from assay.errors import InputError

Kind = Literal["slt", "opt"]
KINDS: tuple[Kind, ...] = ("slt", "opt")
DEEPEST = 200  # levels of an OPT; deeper ones are not compared
# In which Tangent visits the edges of an SLT
_ORDER = {letter: place for place, letter in enumerate("aocnbudew")}
_END = frozenset("[],")


@dataclass(frozen=True, slots=True)
class Tree:
    """A formula. Nodes are numbered depth first, and each child has a greater number than its parent.

    Args:
        labels: of each node.
        edges: the letter of the edge to each node from its parent; empty for the root.
        parents: the parent of each node; -1 for the root.
        children: of each node, in the order in which they are visited.
    """

    labels: list[str]
    edges: list[str]
    parents: list[int]
    children: list[list[int]]

    def __len__(self) -> int:
        return len(self.labels)

    def child(self, node: int, edge: str) -> int:
        """The child of a node by an edge; -1 if there is none."""
        for child in self.children[node]:  # a loop: the baselines ask millions of times
            if self.edges[child] == edge:
                return child
        return -1


def parse(text: str, kind: Kind) -> Tree:
    """The tree of a string.

    Raises:
        InputError: It is not the string of a tree, or an OPT deeper than 200 levels.
    """
    labels, edges, parents = _nodes(text)
    depth = [0] * len(labels)
    children: list[list[int]] = [[] for _ in labels]
    for node, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(node)
            depth[node] = depth[parent] + 1
    if kind == "opt" and max(depth) >= DEEPEST:
        raise InputError(f"an operator tree of more than {DEEPEST} levels")
    if kind == "slt":
        for nodes in children:
            nodes.sort(key=lambda node: _ORDER.get(edges[node], len(_ORDER)))
    # The tree with its nodes numbered in the order in which they are visited
    tree = Tree(labels, edges, parents, children)
    order: list[int] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        waiting += reversed(tree.children[node])
    number = {node: place for place, node in enumerate(order)}
    return Tree(
        [tree.labels[node] for node in order],
        [tree.edges[node] for node in order],
        [number[tree.parents[node]] if tree.parents[node] >= 0 else -1 for node in order],
        [[number[child] for child in tree.children[node]] for node in order],
    )


def _nodes(text: str) -> tuple[list[str], list[str], list[int]]:
    """Label, edge and parent of each node, in the order of the string."""
    labels: list[str] = []
    edges: list[str] = []
    parents: list[int] = []
    stack: list[int] = []
    at, edge = 0, ""
    while at < len(text):
        sign = text[at]
        if sign == "[":
            end = at + 1
            while end < len(text) and text[end] not in _END:
                end += 1
            parents.append(stack[-1] if stack else -1)
            edges.append(edge or ("n" if stack else ""))
            stack.append(len(labels))
            labels.append(text[at + 1 : end])
            at, edge = end, ""
        elif sign == "]" and stack:
            stack.pop()
            at += 1
        elif sign == "," and stack and text[at + 2 : at + 3] == "[":
            edge = text[at + 1]
            at += 2
        else:
            break
        if not stack:
            break
    if at != len(text) or stack or not labels:
        raise InputError(f"not the string of a tree: {text[:60]!r}")
    return labels, edges, parents
