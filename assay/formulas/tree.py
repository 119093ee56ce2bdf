"""The nodes of a Symbol Layout Tree, and the rules that link rows, fences, scripts and tables.

A node has a label and up to nine links, each to one node: n next, a above, b below, o over, u under, c before and
above, d before and below, w within, e element. A *chain* is a node with all nodes that follow it by n.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import Self

LINKS = "aboucdwe"  # the order of links in the string, after n
SEPARATORS = frozenset({",", "&comma;"})
_ESCAPES = str.maketrans(
    {"\t": r"\t", "\n": r"\n", "\r": r"\r", "?": "&quest;", ",": "&comma;", "[": "&lsqb;", "]": "&rsqb;"}
)
_INVISIBLE = frozenset("\u2061\u2062\u2063\u2064")
_SIZE = re.compile(r"([0-9]+)x([0-9]+)")


class Fault(ValueError):
    """A formula violates a rule, so it has no tree."""


class Node:
    """A symbol. `_end` is the end of its chain when it was last walked."""

    __slots__ = ("_end", "label", "links", "n")

    def __init__(self, label: str) -> None:
        self.label = label
        self.n: Node | None = None
        self.links: dict[str, Node] | None = None
        self._end: Node = self

    @property
    def is_empty(self) -> bool:
        """Return whether the node shows nothing."""
        return not self.n and not self.links and self.label in {"", "W!"}

    @property
    def is_table(self) -> bool:
        return self.label.startswith("M!")

    def link(self, letter: str, node: "Node | None") -> None:
        """Set a link, unless the node is None."""
        if node is not None:
            if self.links is None:
                self.links = {}
            self.links[letter] = node

    def linked(self, letter: str) -> "Node | None":
        return self.links.get(letter) if self.links else None

    def with_links(self, links: "Mapping[str, Node | None]") -> Self:
        for letter, node in links.items():
            self.link(letter, node)
        return self

    def append(self, node: "Node | None") -> None:
        """Link a node by n at the end of this chain."""
        end = self._end
        while end.n is not None:
            end = end.n
        end.n = node
        self._end = end if node is None else node

    def cut(self) -> None:
        """End the chain here."""
        self.n = None
        self._end = self


def label_of(text: str | None) -> str:
    """The text of an element as a label: escaped where it contains signs of the string; empty if it is invisible."""
    label = (text or "").strip().translate(_ESCAPES)
    return "" if label in _INVISIBLE else label


def to_string(root: Node) -> str:
    """The string of a tree, as Tangent writes it."""
    parts: list[str] = []
    waiting: list[Node | str] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        parts.append(f"[{item.label}")
        waiting.append("]")
        if item.links:
            for letter in reversed(LINKS):
                if letter in item.links:
                    waiting += (item.links[letter], f",{letter}")
        if item.n is not None:
            waiting.append(item.n)
    return "".join(parts)


def chained(row: Sequence[Node]) -> Node | None:
    """Chain the nodes of a row, and join adjacent tables; None if there are no nodes."""
    if not row:
        return None
    side_by_side = [row[0]]
    for node in row[1:]:
        left, right = _size(side_by_side[-1]), _size(node)
        if left and right and left[1] == right[1]:  # tables without a fence that have as many rows
            side_by_side.append(node)
        else:
            _join(side_by_side)
            side_by_side[0].append(node)
            side_by_side = [node]
    _join(side_by_side)
    return row[0]


def plainly_chained(nodes: "Sequence[Node | None]") -> Node | None:
    """Chain nodes; None if the first one is missing."""
    first = nodes[0] if nodes else None
    if first is None:
        return None
    for node in nodes[1:]:
        if node is not None:
            first.append(node)
    return first


def _size(node: Node) -> "re.Match[str] | None":
    """The rows and columns of a table without a fence."""
    return _SIZE.fullmatch(node.label, 2) if node.is_table else None


def _join(tables: Sequence[Node]) -> None:
    """Join adjacent tables with the same number of rows into the first one, row by row."""
    if len(tables) == 1:
        return
    rows: list[list[Node]] = []
    n_columns = 0
    for node in tables:
        size = _size(node)
        assert size is not None
        n_rows, n = int(size[1]), int(size[2])
        head = node.linked("w")
        cells = list(islice(_row_of(head), n_rows * n)) if head else []
        if not n_rows * n or len(cells) < n_rows * n:
            raise Fault
        rows = rows or [[] for _ in range(n_rows)]
        for i, row in enumerate(rows):
            row += cells[i * n : (i + 1) * n]
        n_columns += n
    for cell, following in pairwise(chain.from_iterable(rows)):
        cell.link("e", following)
    tables[0].label = f"M!{len(rows)}x{n_columns}"


def table(rows: "Sequence[Node | None]") -> Node:
    """A table, from the first cell of each row."""
    heads = [head for head in rows if head is not None]
    if not heads or len(heads) < len(rows):
        raise Fault
    n_columns = 0
    end = None
    for i, head in enumerate(heads):
        if end is not None:
            end.link("e", head)
        for cell in _row_of(head):
            n_columns += i == 0
            end = cell
    return Node(f"M!{len(heads)}x{n_columns}").with_links({"w": heads[0]})


def _row_of(cell: Node) -> Iterable[Node]:
    """A cell and all cells that follow it by e."""
    following: Node | None = cell
    while following is not None:
        yield following
        following = following.linked("e")


def scripted(base: Node, scripts: "Mapping[str, Node | None]", *, is_limit: bool) -> Node:
    """A base with scripts below (b) or above (a); for operators and limits, under (u) and over (o).

    A base that already has such a link, or a next node, is wrapped first.
    """
    if not base.label:
        raise Fault
    is_operator = base.label[0] != "?" and base.label[1:2] != "!"  # a label without a type mark
    if is_limit or is_operator:
        scripts = {"u" if letter == "b" else "o": node for letter, node in scripts.items()}
    if base.n is not None or any(base.linked(letter) for letter in scripts):
        base = Node(f"M!1x{sum(1 for _ in _row_of(base))}").with_links({"w": base})
    return base.with_links(scripts)


def fenced(row: Sequence[Node]) -> Node:
    """The content of two fences, which are the first and the last node of a row of at least two."""
    inner = row[1]
    fences = row[0].label + row[-1].label
    is_fenced = inner.label[2:3] in {"(", "{", "|", "&", "∥"}
    has_links = inner.n is not None or any(inner.linked(letter) for letter in "aboucd")
    if len(row) < 4 and inner.is_table and not is_fenced and not has_links:
        inner.label = f"M!{fences}{inner.label[2:]}"
        return inner
    if len(row) == 2:
        return Node(f"M!{fences}")
    head, n_arguments = _arguments_of_chain(inner) if len(row) == 3 else _arguments_of_row(row[1:-1])
    return Node(f"M!{fences}1x{n_arguments}").with_links({"w": head})


def _arguments_of_chain(head: Node) -> tuple[Node, int]:
    """Split a chain at separators into arguments, linked by e, and count them. Each argument keeps its separator."""
    if head.label in SEPARATORS:
        blank = Node("W!")
        blank.append(head)
        head = blank
    n = 1
    node = argument = head
    while (following := node.n) is not None:
        if following.label not in SEPARATORS:
            node = following
            continue
        n += 1
        rest = following.n
        following.cut()
        if rest is None:
            break
        argument.link("e", rest)
        node = argument = rest
    return head, n


def _arguments_of_row(row: Sequence[Node]) -> tuple[Node, int]:
    """Split several chains at separators into arguments, linked by e, and count them. Each keeps its separator."""
    head = Node("W!") if row[0].label in SEPARATORS else row[0]
    running = argument = head
    n = 1
    for before, node in zip([head, *row], row, strict=False):
        if node is head:
            continue
        if node.label in SEPARATORS:
            n += 1
            running.append(node)
            running = node
        elif before.label in SEPARATORS:
            argument.link("e", node)
            running = argument = node
        else:
            running.append(node)
    return head, n
