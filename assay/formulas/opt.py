"""Makes the Operator Tree (OPT) string of a formula from its Content MathML, as Tangent-S does.

A label begins with its kind: V! variable, N! number, T! text, F! function, O! operator with ordered arguments, U! with
unordered ones, C! constant, M! group of elements, E! error, W! nothing, -! unknown, +! an applied operator that has
arguments of its own. The arguments follow in their order, each after its digit: `[U!plus,0[V!x],1[N!1]]`.

A formula that violates a rule has no string. Nothing here recurses, and the time is proportional to the length.

Source: Davila and Zanibbi, "Layout and semantics" (SIGIR 2017), doi:10.1145/3077136.3080748, and the behavior of its
published program. It knew about 150 names of LaTeXML's symbols; here every name is an operator.
"""

from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Final, NamedTuple

from lxml import etree

from assay.formulas import mathml
from assay.formulas.tree import Fault, label_of

EDGES: Final = f"{digits}{ascii_uppercase}{ascii_lowercase}"  # of the arguments, in their order

# fmt: off
_UNORDERED: Final = ("approx", "eq", "neq", "equivalent", "union", "intersect", "plus", "times", "and", "or")
_ORDERED: Final = (
    "lt", "gt", "leq", "geq", "minus", "divide", "subset", "prsubset", "notsubset", "notprsubset", "in", "notin",
    "forall", "exists", "setdiff", "not", "implies", "int", "sum", "partialdiff", "limit", "factorial", "compose",
    "root",
)
_FUNCTIONS: Final = (
    "sin", "cos", "tan", "sec", "csc", "cot", "sinh", "cosh", "tanh", "sech", "csch", "coth", "arcsin", "arccos",
    "arctan", "arcsec", "arccsc", "arccot", "arcsinh", "arccosh", "arctanh", "arcsech", "arccsch", "arccoth", "abs",
    "exp", "log", "ln", "min", "max", "ceiling", "floor", "arg", "gcd", "real", "imaginary",
)
# fmt: on
_SYMBOLS: Final = {
    **{name: f"U!{name}" for name in _UNORDERED},
    **{name: f"O!{name}" for name in _ORDERED},
    **{name: f"F!{name}" for name in _FUNCTIONS},
    **{name: f"C!{name}" for name in ("infinity", "emptyset", "imaginaryi")},
    "determinant": "F!det",
}
_LATEXML: Final = {
    "for-all": "O!forall",
    "modulo": "O!rem",
    "square-root": "O!root",
    "hyperbolic-cotangent": "F!coth",
    "planck-constant-over-2-pi": "C!hbar",
    "absent": "W!",
    "differential-d": "V!d",
}
_AMBIGUOUS: Final = {
    "subscript": "O!SUB",
    "superscript": "O!SUP",
    "formulae-sequence": "O!form-seq",  # prose: allow a name of LaTeXML
    "fragments": "O!fragments",
    "missing-subexpression": "W!",
}
_LEAVES: Final = {"ci": "V!", "cn": "N!", "mtext": "T!"}
_GROUPS: Final = {"vector": "V", "list": "L", "set": "S"}
_SCRIPTS: Final = frozenset({"O!SUB", "O!SUP"})


class Tree(NamedTuple):
    """An operator or symbol, and its arguments."""

    label: str
    children: Sequence["Tree"] = ()


def opt(markup: str) -> str | None:
    """The OPT string of the first formula in markup; None if it has none.

    Args:
        markup: Content MathML from a formula index, or MathML with an annotation in Content MathML.

    >>> opt("<math><apply><plus/><ci>x</ci><cn>1</cn></apply></math>")
    '[U!plus,0[V!x],1[N!1]]'
    """
    text = mathml.isolated(markup)
    if text is None:
        return None
    try:
        tree = _tree(mathml.read_content(text))
        return None if tree is None else to_string(tree)
    except (etree.LxmlError, ValueError):
        return None


def to_string(root: Tree) -> str:
    """The string of a tree. Raises `Fault` if a node has more than 62 arguments."""
    parts: list[str] = []
    waiting: list[Tree | str] = [root]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        if len(item.children) > len(EDGES):
            raise Fault
        parts.append(f"[{item.label}")
        waiting.append("]")
        for edge, child in reversed([*zip(EDGES, item.children, strict=False)]):
            waiting += (child, f",{edge}")
    return "".join(parts)


def _tree(root: etree._Element) -> Tree | None:
    """The tree of an element's only child.

    Elements are visited in reverse document order, so the results of an element's children are on top of the stack,
    with the first child on top.
    """
    done: list[Tree] = []
    for element in reversed(list(root.iter(etree.Element))):
        n = len(element)
        children = done[: -n - 1 : -1] if n else []
        if n:
            del done[-n:]
        if element is root:
            return children[0] if len(children) == 1 else None
        done.append(_node(element, children))
    return None


def _node(element: etree._Element, children: Sequence[Tree]) -> Tree:
    name = etree.QName(element).localname
    if name in _LEAVES:
        label = label_of(element.text)
        return Tree(f"{_LEAVES[name]}{label}" if label else "W!")
    if name == "csymbol":
        return Tree(_symbol(element))
    if name in _SYMBOLS:
        return Tree(_SYMBOLS[name])
    rule = _RULES.get(name)
    if rule is None:
        raise Fault
    return rule(element, children)


def _symbol(element: etree._Element) -> str:
    """The label of a `csymbol`."""
    dictionary, text = element.get("cd", ""), label_of(element.text)
    name = text.lower()
    if dictionary == "latexml":
        return f"M!D-{text[11:]}" if name.startswith("delimited-") else _LATEXML.get(name, f"O!{name}")
    if dictionary == "ambiguous" and name in _AMBIGUOUS:
        return _AMBIGUOUS[name]
    if dictionary == "unknown":
        return f"-!{text}"
    raise Fault


def _apply(_element: etree._Element, children: Sequence[Tree]) -> Tree:
    if not children:
        return Tree("W!")
    root, operands = children[0], list(children[1:])
    if root.children:
        base = root.children[0].label if root.label in _SCRIPTS else ""
        return Tree(f"+!{base}", [root, *operands])
    if root.label.startswith("V!"):
        return Tree(f"F!{root.label[2:]}", operands)
    if root.label == "O!int":
        return Tree(root.label, [*operands, Tree("W!"), Tree("W!")])
    if root.label == "O!root":  # the degree is an element before the operand
        has_degree = bool(operands) and operands[0].label == "degree"
        arguments = [*operands[1:], *operands[0].children] if has_degree else [*operands, Tree("N!2")]
        return Tree(root.label, arguments)
    return _split(Tree(root.label, operands))


def _split(tree: Tree) -> Tree:
    """A tree with more arguments than there are edges, in halves, if their order does not matter."""
    if len(tree.children) <= len(EDGES) or tree.label[:2] not in {"U!", "E!"}:
        return tree
    half = len(tree.children) // 2
    parts = (tree.children[:half], tree.children[half:])
    return Tree(tree.label, [_split(Tree(tree.label, part)) for part in parts])


def _error(_element: etree._Element, children: Sequence[Tree]) -> Tree:
    """A part that LaTeXML could not parse: its letters are joined to words."""
    joined: list[Tree] = []
    for child in children:
        last = joined[-1].label if joined else ""
        if child.label.startswith("-!") and last[:2] in {"-!", "T!"}:
            joined[-1] = Tree(f"T!{last[2:]}{child.label[2:]}")
        else:
            joined.append(child)
    return _split(Tree("E!", joined))


def _interval(element: etree._Element, children: Sequence[Tree]) -> Tree:
    ends = element.get("closure", "closed").lower().split("-")
    left, right = ends[0][:1].upper(), ends[-1][:1].upper()
    return Tree(f"O!interval({left}-{right})", children)


def _group(element: etree._Element, children: Sequence[Tree]) -> Tree:
    kind = _GROUPS[etree.QName(element).localname]
    return Tree(f"M!{kind}-{len(children)}", children)


def _matrix(_element: etree._Element, rows: Sequence[Tree]) -> Tree:
    width = max((len(row.children) for row in rows), default=0)
    filled = [Tree("M!R!", [*row.children, *[Tree("E!")] * (width - len(row.children))]) for row in rows]
    return Tree(f"M!M-{len(rows)}x{width}", filled)


_RULES: Final[dict[str, Callable[[etree._Element, Sequence[Tree]], Tree]]] = {
    "apply": _apply,
    "cerror": _error,
    "interval": _interval,
    "matrix": _matrix,
    "matrixrow": lambda _element, cells: Tree("M!R!", cells),
    "degree": lambda _element, children: Tree("degree", children),
    # what LaTeXML could not read, in an identifier: only the text of the identifier itself counts
    **dict.fromkeys(("merror", "mrow", "mi", "mo", "mn", "mspace"), lambda _element, _children: Tree("W!")),
    **dict.fromkeys(_GROUPS, _group),
}
