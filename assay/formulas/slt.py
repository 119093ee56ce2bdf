"""Makes the Symbol Layout Tree (SLT) string of a formula from its Presentation MathML, as Tangent-S does.

Formulas with the same string look alike. The rules are those of Tangent, with its peculiarities, because official
visual ids are based on its strings: a fence is recognized by its first and last symbol, even if they do not match,
and adjacent tables become one. A formula that violates a rule has no string; `slt` does not raise.

Neither the parser nor the tree walk recurses, and each takes time proportional to the size of the formula, so that deep
nesting cannot stop a worker.

Source: Zanibbi, Davila, Kane and Tompa, "Multi-stage math formula search" (SIGIR 2016), doi:10.1145/2911451.2911512,
and the behavior of its published program.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final

from lxml import etree

from assay.formulas import mathml
from assay.formulas.mathml import MATH, MATHML
from assay.formulas.tree import (
    Fault,
    Node,
    chained,
    fenced,
    label_of,
    plainly_chained,
    scripted,
    table,
    to_string,
)

WEB_SEARCH: Final = "http://search.mathweb.org/ns"  # the namespace of `qvar`, a wildcard

Parsed = Node | None  # None: the element leaves nothing
Result = Parsed | Fault


def slt(markup: str) -> str | None:
    """The SLT string of the first formula in markup; None if it has none.

    Args:
        markup: MathML from a formula index or a page: Presentation MathML alone, or with Content MathML and LaTeX; with
            or without namespace prefixes. Text around it is ignored.
    """
    text = mathml.isolated(markup)
    if text is None:
        return None
    for read in (mathml.read_xml, mathml.read_html):
        try:
            tree = _tree(read(text))
        except (etree.LxmlError, ValueError):
            continue
        if not isinstance(tree, Fault):
            return None if tree is None else to_string(tree)
    return None


def _tree(root: etree._Element) -> Result:
    """The tree of a `math` element.

    Elements are visited in reverse document order, so the results of an element's children are on top of the stack,
    with the first child on top. A fault stays on the stack until an element uses it; some elements ignore children.
    """
    done: list[Result] = []
    for element in reversed(list(root.iter())):
        children: Sequence[Result] = ()
        if n := len(element):
            children = done[: -n - 1 : -1]
            del done[-n:]
        tag = MATH if element is root else str(element.tag)
        try:
            leaf = _LEAVES.get(tag)
            done.append(leaf(element) if leaf else _inner(tag, element, children))
        except Fault as fault:
            done.append(fault)
    return done[0]


def _inner(tag: str, element: etree._Element, children: Sequence[Result]) -> Parsed:
    """The result of an element, from the results of its children."""
    rule = _RULES.get(tag)
    if rule is None:
        raise Fault
    if tag in _FIRST_COUNTS:
        children = children[:1]
    elif tag == _MULTISCRIPTS:
        at = _prescripts(element)
        children = [None if i == at else child for i, child in enumerate(children)]
    sound: list[Parsed] = []
    for child in children:
        if isinstance(child, Fault):
            raise child
        sound.append(child)
    return rule(element, sound)


def _prescripts(element: etree._Element) -> int:
    """The index of the child between the scripts after the base and those before it; the end if there is none."""
    return next((i for i, child in enumerate(element) if child.tag == _PRESCRIPTS), len(element))


@lru_cache(maxsize=4096)
def _short(mark: str, text: str) -> str:
    label = label_of(text)
    return f"{mark}{label}" if label else "W!"


def _typed(mark: str, text: str | None) -> str:
    """A label with its type; that of a space if there is no text. Short labels are frequent and cached."""
    return _short(mark, text or "") if len(text or "") < 20 else _short.__wrapped__(mark, text or "")


def _wildcard(element: etree._Element) -> Node:
    return Node(f"?{element.get('name') or label_of(element.text)}")


# Elements that consist of their children.


def _first(_element: etree._Element, children: list[Parsed]) -> Parsed:
    return children[0] if children else None


def _math(element: etree._Element, children: list[Parsed]) -> Parsed:
    if len(children) > 1:
        raise Fault
    return _first(element, children)


def _shown(children: list[Parsed]) -> list[Node]:
    """The children that show something."""
    return [child for child in children if child is not None and not child.is_empty]


def _base(children: list[Parsed]) -> Node:
    """The base of scripts, which may be an empty place."""
    return next(iter(_shown(children[:1])), Node("W!"))


def _row(_element: etree._Element, children: list[Parsed]) -> Parsed:
    row = _shown(children)
    if len(row) > 2 and row[0].label in _OPENING and row[-1].label in _CLOSING:
        return fenced(row)
    return chained(row)


_OPENING = frozenset({"(", "{", "|", "∥", "&lsqb;"})
_CLOSING = frozenset({")", "}", "|", "∥", "&rsqb;"})


def _fence(element: etree._Element, children: list[Parsed]) -> Parsed:
    separators = element.get("separators", ",").split()
    row = [Node(label_of(element.get("open", "(")))]
    for i, child in enumerate(_shown(children)):
        if i and separators:
            row.append(Node(separators[min(i, len(separators)) - 1]))
        row.append(child)
    row.append(Node(label_of(element.get("close", ")"))))
    return fenced(row)


def _scripts(below: str, above: str, *, is_limit: bool) -> "Rule":
    """A rule for a base with one or two scripts; an empty letter means that the element has no such script."""

    def rule(_element: etree._Element, children: list[Parsed]) -> Parsed:
        letters = [letter for letter in (below, above) if letter]
        if len(children) != len(letters) + 1:
            return chained(_shown(children))
        return scripted(_base(children), dict(zip(letters, children[1:], strict=True)), is_limit=is_limit)

    return rule


def _pair(label: str, first: str, second: str) -> "Rule":
    """A rule for an element of exactly two children."""

    def rule(_element: etree._Element, children: list[Parsed]) -> Parsed:
        if len(children) != 2:
            return chained(_shown(children))
        return Node(label).with_links({first: children[0], second: children[1]})

    return rule


def _cell(_element: etree._Element, children: list[Parsed]) -> Parsed:
    first = children[0] if children else None
    return plainly_chained([Node("W!") if first is None else first, *children[1:]])


def _table_row(_element: etree._Element, children: list[Parsed]) -> Parsed:
    """The first cell; each other cell is linked by e from the one before."""
    cells = [Node("W!") if cell is None else cell for cell in children] or [Node("W!")]
    for cell, following in pairwise(cells):
        cell.link("e", following)
    return cells[0]


def _multiscripts(element: etree._Element, children: list[Parsed]) -> Parsed:
    at = _prescripts(element)
    after, before = children[1:at], children[at + 1 :]
    return _base(children).with_links(
        {
            "b": _script_list(after[0::2]),
            "a": _script_list(after[1::2]),
            "d": _script_list(before[0::2]),
            "c": _script_list(before[1::2]),
        }
    )


def _script_list(scripts: Sequence[Parsed]) -> Parsed:
    """Scripts of one corner, linked by n.

    The last script is dropped if it begins with an empty place. Then the one before also loses the nodes that follow
    it, as in Tangent.
    """
    present = [script for script in scripts if script is not None]
    if len(present) < len(scripts):
        raise Fault
    if present and present[-1].label == "W!":
        present.pop()
        if present:
            present[-1].cut()
    return plainly_chained(present)


Leaf = Callable[[etree._Element], Node]
Rule = Callable[[etree._Element, list[Parsed]], Parsed]

_FIRST_COUNTS = frozenset({f"{{{MATHML}}}semantics", f"{{{MATHML}}}mstyle"})
_MULTISCRIPTS = f"{{{MATHML}}}mmultiscripts"
_PRESCRIPTS = f"{{{MATHML}}}mprescripts"
_LEAVES: dict[str, Leaf] = {
    **{
        f"{{{MATHML}}}{name}": leaf
        for name, leaf in {
            "mn": lambda element: Node(_typed("N!", element.text)),
            "mi": lambda element: Node(_typed("V!", element.text)),
            "mtext": lambda element: Node(_typed("T!", element.text)),
            "mo": lambda element: Node(label_of(element.text)),
            "merror": lambda element: Node(f"E!{label_of(element.text)}"),
            "qvar": _wildcard,
            **dict.fromkeys(("mspace", "none", "mphantom"), lambda _element: Node("W!")),
        }.items()
    },
    f"{{{WEB_SEARCH}}}qvar": _wildcard,
}
_RULES: dict[str, Rule] = {
    f"{{{MATHML}}}{name}": rule
    for name, rule in {
        "math": _math,
        "semantics": _first,
        "mstyle": _first,
        "mrow": _row,
        "simto": _row,  # a part of a query of NTCIR-12 that results need only resemble
        "mpadded": _row,
        "mfenced": _fence,
        "msub": _scripts("b", "", is_limit=False),
        "msup": _scripts("", "a", is_limit=False),
        "msubsup": _scripts("b", "a", is_limit=False),
        "munder": _scripts("b", "", is_limit=True),
        "mover": _scripts("", "a", is_limit=True),
        "munderover": _scripts("b", "a", is_limit=True),
        "mfrac": _pair("O!divide", "o", "u"),
        "mroot": _pair("O!root", "w", "c"),
        "msqrt": lambda _element, children: (
            Node("O!root").with_links({"w": plainly_chained(children)}) if children else Node("W!")
        ),
        "menclose": lambda element, children: Node(element.get("notation", "longdiv")).with_links(
            {"w": plainly_chained(children)}
        ),
        "mtd": _cell,
        "mtr": _table_row,
        "mtable": lambda _element, children: table(children),
        "mmultiscripts": _multiscripts,
    }.items()
}
