"""Which formulas are one visually distinct formula: the rule of ARQMath-2 as arrays. No Django.

A formula is known by two keys: a digest of its SLT string (`assay.formulas.slt`) and one of its LaTeX without white space; a
key is empty where there is nothing to make it from. Arrays have one row a formula; results do not depend on how the
rows came together, for rows are walked in the order of their ids (`id_order`).

The rule, of the walk: a formula with an SLT string that was not met before gets the next number, and its LaTeX is
noted under that number; one without a string takes the number noted for its LaTeX, or the next, which is then noted.
Ids that formulas have already are kept, and are taken before any new number is made: a formula joins the id that most
formulas of its string have. A formula of which nothing is known gets no id.

Source: Mansouri, Zanibbi, Oard and Agarwal, "Overview of ARQMath-2 (2021)", doi:10.1007/978-3-030-85251-1_17.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.bytes_]
KEY_BYTES = 16
NUMBER_DIGITS = 18  # ids of more digits are names: no number that is made comes near them


def key_of(text: str) -> bytes:
    """The digest of a string; of an empty string, nothing."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=KEY_BYTES).digest() if text else b""


def latex_key(latex: str) -> bytes:
    """The key of LaTeX, whatever white space it has."""
    return key_of("".join(latex.split()))


@dataclass(frozen=True, slots=True)
class Keys:
    """What clustering needs to know of formulas.

    Attributes
    ----------
    formula : (n,) ids, each once, in any order.
    slt, latex : (n,) keys, empty where there is none.
    kept : (n,) visual ids that are kept; empty where there is none.
    """

    formula: Ids
    slt: Ids
    latex: Ids
    kept: Ids

    def __len__(self) -> int:
        return len(self.formula)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, bytes, bytes, str]]) -> Self:
        """Keys from rows of formula id, SLT key, LaTeX key and visual id."""
        columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
        formula, kept = ([one.encode() for one in columns[i]] for i in (0, 3))
        slt, latex = (np.array(columns[i], dtype=f"S{KEY_BYTES}") for i in (1, 2))
        return cls(np.array(formula, dtype=np.bytes_), slt, latex, np.array(kept, dtype=np.bytes_))

    @classmethod
    def joined(cls, parts: "Sequence[Keys]") -> Self:
        columns = [[getattr(part, name) for part in parts] for name in cls.__slots__]
        return cls(*(np.concatenate(column) for column in columns))

    def __getitem__(self, rows: NDArray[np.intp] | slice) -> "Keys":
        return Keys(self.formula[rows], self.slt[rows], self.latex[rows], self.kept[rows])

    def to_bytes(self) -> bytes:
        file = io.BytesIO()
        np.savez(file, formula=self.formula, slt=self.slt, latex=self.latex, kept=self.kept)
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
            return cls(*(arrays[name] for name in cls.__slots__))


def id_order(formula: Ids) -> NDArray[np.intp]:
    """(n,) rows in the order of their ids: shorter ones first, then by bytes; numbers so come by value."""
    return np.lexsort((formula, np.strings.str_len(formula)))


def visual_ids(keys: Keys, *, above: int = 0) -> Ids:
    """The visual id of each formula, in the rows' order; empty where nothing is known of a formula.

    Parameters
    ----------
    above : new numbers are greater than this, and than every number among the ids that are kept.
    """
    order = id_order(keys.formula)
    ordered = keys[order]
    found = _joined_ids(ordered)
    rest = np.flatnonzero(found == b"")
    numbers = walk(ordered.slt[rest], ordered.latex[rest])
    start = 1 + max(above, greatest_number(ordered.kept))
    made = np.array(
        [b"%d" % number for number in range(start, start + numbers.max(initial=-1) + 1)], dtype=np.bytes_
    )
    found = found.astype(f"S{max(found.itemsize, made.itemsize)}")
    is_known = numbers >= 0
    found[rest[is_known]] = made[numbers[is_known]]
    result = np.empty_like(found)
    result[order] = found
    return result


def greatest_number(ids: Ids) -> int:
    """The greatest number among some ids; 0 if none is a number."""
    found = np.unique(ids)
    is_number = np.strings.isdigit(found) & (np.strings.str_len(found) <= NUMBER_DIGITS)
    return int(found[is_number].astype(np.int64).max(initial=0))


def walk(slt: Ids, latex: Ids) -> NDArray[np.int64]:
    """(n,) numbers from 0 for formulas none of which has an id, rows in the order of the walk; -1: nothing known."""
    rows = np.arange(len(slt))
    lead = _first_rows(slt)
    has_slt = slt != b""
    is_first = has_slt & (lead == rows)
    noted = np.flatnonzero((is_first | ~has_slt) & (latex != b""))
    noted = noted[np.argsort(latex[noted], kind="stable")]
    begins = np.ones(
        len(noted), dtype=bool
    )  # of a number: each first row of a LaTeX, each first row of a string
    begins[1:] = (latex[noted][1:] != latex[noted][:-1]) | is_first[noted][1:]
    lead[noted] = noted[np.maximum.accumulate(np.where(begins, np.arange(len(noted)), 0))]
    is_known = has_slt | (latex != b"")
    numbers = np.full(len(slt), -1, dtype=np.int64)
    numbers[is_known] = np.unique(lead[is_known], return_inverse=True)[1]
    return numbers


def _first_rows(values: Ids) -> NDArray[np.intp]:
    """(n,) the first row that has the same value."""
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    return first[inverse]


def _joined_ids(keys: Keys) -> Ids:
    """(n,) the id that each formula keeps or joins; empty where there is none. Rows in the order of the walk."""
    found = keys.kept.copy()
    has = np.flatnonzero(keys.kept != b"")
    is_open = (keys.kept == b"") & (keys.slt != b"")
    found[is_open] = _usual(keys.slt[has], keys.kept[has], keys.slt[is_open])
    is_open = (keys.kept == b"") & (keys.slt == b"")
    found[is_open] = _usual(keys.latex[has], keys.kept[has], keys.latex[is_open])
    return found


def _usual(key: Ids, value: Ids, wanted: Ids) -> Ids:
    """The value that most rows of each wanted key have, of several the one met first; empty for an unknown key."""
    keys, k = np.unique(key, return_inverse=True)
    values, v = np.unique(value, return_inverse=True)
    result = np.zeros(len(wanted), dtype=value.dtype)
    if not len(keys):
        return result
    pairs, first, n = np.unique(k * len(values) + v, return_index=True, return_counts=True)
    order = np.lexsort((first, -n, pairs // len(values)))
    _, best = np.unique(
        pairs[order] // len(values), return_index=True
    )  # one of each key, in the order of `keys`
    usual = values[pairs[order][best] % len(values)]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    is_known = (keys[at] == wanted) & (wanted != b"")
    result[is_known] = usual[at[is_known]]
    return result


class Disagreement(NamedTuple):
    """Formulas of one string and one id, where the id has other strings or the string has other ids.

    `row` is the first of them by id, and shows the string; `is_slt` says whether that is an SLT string or LaTeX.
    """

    visual: bytes
    row: int
    n: int
    is_slt: bool
    n_strings: int  # of the id
    n_ids: int  # of the string


@dataclass(frozen=True, slots=True)
class Report:
    """Where ids that were given and our strings disagree.

    Attributes
    ----------
    n_ids, n_strings : ids with an SLT string, and SLT strings with an id.
    split_ids : ids with several SLT strings.
    shared_strings : SLT strings with several ids.
    shared_latex : LaTeX of formulas without an SLT string that has several ids.
    details : the strings and ids of all these, the largest first.
    """

    n_ids: int
    n_strings: int
    split_ids: int
    shared_strings: int
    shared_latex: int
    details: list[Disagreement]

    @property
    def n_formulas(self) -> int:
        """How many formulas have an id or a string that disagrees."""
        return sum(one.n for one in self.details)


def report(keys: Keys) -> Report:
    """Compare the ids that are kept with the strings. An id may hold many strings of LaTeX: they may look alike."""
    order = id_order(keys.formula)
    has = order[keys.kept[order] != b""]
    by_slt = _pairs(keys, has[keys.slt[has] != b""], keys.slt, is_slt=True)
    by_latex = _pairs(keys, has[(keys.slt[has] == b"") & (keys.latex[has] != b"")], keys.latex, is_slt=False)
    faults = [one for one in by_slt.pairs if one.n_strings > 1 or one.n_ids > 1]
    faults += [one for one in by_latex.pairs if one.n_ids > 1]
    return Report(
        n_ids=by_slt.n_ids,
        n_strings=by_slt.n_strings,
        split_ids=len({one.visual for one in by_slt.pairs if one.n_strings > 1}),
        shared_strings=by_slt.n_shared,
        shared_latex=by_latex.n_shared,
        details=sorted(faults, key=lambda one: (not one.is_slt, one.n_ids == 1, one.visual, one.row)),
    )


class _Pairs(NamedTuple):
    pairs: list[Disagreement]
    n_ids: int
    n_strings: int
    n_shared: int


def _pairs(keys: Keys, rows: NDArray[np.intp], key: Ids, *, is_slt: bool) -> _Pairs:
    """The pairs of id and string where either has several of the other; rows in the order of ids."""
    strings, s = np.unique(key[rows], return_inverse=True)
    ids, v = np.unique(keys.kept[rows], return_inverse=True)
    if not len(rows):
        return _Pairs([], 0, 0, 0)
    pairs, first, n = np.unique(s * len(ids) + v, return_index=True, return_counts=True)
    n_ids = np.bincount(pairs // len(ids), minlength=len(strings))
    n_strings = np.bincount(pairs % len(ids), minlength=len(ids))
    found = []
    for i in np.flatnonzero((n_ids[pairs // len(ids)] > 1) | (n_strings[pairs % len(ids)] > 1)).tolist():
        string, at = divmod(int(pairs[i]), len(ids))
        row = int(rows[first[i]])
        found.append(
            Disagreement(bytes(ids[at]), row, int(n[i]), is_slt, int(n_strings[at]), int(n_ids[string]))
        )
    return _Pairs(found, len(ids), len(strings), int((n_ids > 1).sum()))
