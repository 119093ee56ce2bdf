"""Clusters formulas that look alike into visually distinct formulas, by the rule of ARQMath-2.

Each formula has two keys: a digest of its SLT string (`assay.formulas.slt`), and a digest of its LaTeX without white
space. A key is empty if its string is. Arrays have one row per formula. The result does not depend on the order of
the rows, because rows are visited in the order of their ids (`id_order`).

The rule: a formula with a new SLT string gets the next number, and its LaTeX is recorded under that number. A formula
without an SLT string gets the number recorded for its LaTeX; if there is none, it gets the next number, which is then
recorded. Formulas keep the ids that they already have. Before any new number is used, a formula joins the id that most
formulas with its string have. A formula without keys gets no id.

Source: Mansouri, Zanibbi, Oard and Agarwal, "Overview of ARQMath-2 (2021)", doi:10.1007/978-3-030-85251-1_17.
Decision: ADR 10.
"""

import io
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.bytes_]
KEY_BYTES = 16
NUMBER_DIGITS = 18  # an id with more digits is a name, because no new number can reach it


def key_of(text: str) -> bytes:
    """The digest of a string; empty for an empty string."""
    return blake2b(text.encode(errors="surrogatepass"), digest_size=KEY_BYTES).digest() if text else b""


def latex_key(latex: str) -> bytes:
    """The key of LaTeX, without its white space."""
    return key_of("".join(latex.split()))


@dataclass(frozen=True, slots=True)
class Keys:
    """The ids and keys of formulas.

    Args:
        formula: (n,) ids, each once, in any order.
        slt, latex: (n,) keys, empty if there is none.
        kept: (n,) visual ids that formulas already have; empty if there is none.
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
        formula, kept = ([word.encode() for word in columns[i]] for i in (0, 3))
        slt, latex = (np.array(columns[i], dtype=f"S{KEY_BYTES}") for i in (1, 2))
        return cls(np.array(formula, dtype=np.bytes_), slt, latex, np.array(kept, dtype=np.bytes_))

    @classmethod
    def joined(cls, parts: "Iterable[Keys]") -> Self:
        """All rows of some parts, joined one column at a time. Parts from an iterator are not in memory twice."""
        columns: dict[str, list[Ids]] = {name: [] for name in cls.__slots__}
        for part in parts:
            for name, column in columns.items():
                column.append(getattr(part, name))
        return cls(*(np.concatenate(columns.pop(name)) for name in cls.__slots__))

    def in_order(self) -> "Keys":
        """The rows in the order of their ids."""
        order = id_order(self.formula)
        return self if _is_range(order) else self[order]

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
    """(n,) rows in the order of their ids: shorter ids first, then by bytes, so that numbers are in order of value."""
    return np.lexsort((formula, np.strings.str_len(formula)))


def _is_range(rows: NDArray[np.intp]) -> bool:
    """Return whether rows are the numbers from 0 on."""
    return bool((rows == np.arange(len(rows))).all())


def visual_ids(keys: Keys, *, above: int = 0) -> Ids:
    """(n,) the visual id of each formula, in the order of the rows; empty for a formula without keys.

    Args:
        above: new numbers are greater than this, and greater than every number among the ids that formulas keep.
    """
    order = id_order(keys.formula)
    if _is_range(order):
        return _visual_ids(keys, above)
    visual = _visual_ids(keys[order], above)
    result = np.empty_like(visual)
    result[order] = visual
    return result


def _visual_ids(keys: Keys, above: int) -> Ids:
    """(n,) the visual id of each formula. Rows are in the order of `id_order`."""
    visual = _joined_ids(keys)
    rest = np.flatnonzero(visual == b"")
    is_whole = len(rest) == len(visual)  # the usual case: a copy of all keys would take much memory
    numbers = walk(keys.slt if is_whole else keys.slt[rest], keys.latex if is_whole else keys.latex[rest])
    start = 1 + max(above, greatest_number(keys.kept))
    end = start + int(numbers.max(initial=-1)) + 1
    new_ids = np.arange(start, end).astype(f"S{len(str(end))}")
    visual = visual.astype(f"S{max(visual.itemsize, new_ids.itemsize)}")
    is_known = numbers >= 0
    visual[rest[is_known]] = new_ids[numbers[is_known]]
    return visual


def greatest_number(ids: Ids) -> int:
    """The greatest number among ids; 0 if no id is a number."""
    distinct = np.unique(ids)
    is_number = np.strings.isdigit(distinct) & (np.strings.str_len(distinct) <= NUMBER_DIGITS)
    return int(distinct[is_number].astype(np.int64).max(initial=0))


def walk(slt: Ids, latex: Ids) -> NDArray[np.int64]:
    """(n,) numbers from 0 for formulas without ids, -1 for those without keys. Rows are in the order of `id_order`."""
    rows = np.arange(len(slt))
    lead = first_rows(slt)
    has_slt = slt != b""
    is_first = has_slt & (lead == rows)
    recorded = np.flatnonzero((is_first | ~has_slt) & (latex != b""))
    recorded = recorded[np.argsort(latex[recorded], kind="stable")]
    # A number begins at each first row of a LaTeX and at each first row of an SLT string.
    begins = np.ones(len(recorded), dtype=bool)
    sorted_latex = latex[recorded]
    begins[1:] = (sorted_latex[1:] != sorted_latex[:-1]) | is_first[recorded][1:]
    lead[recorded] = recorded[np.maximum.accumulate(np.where(begins, np.arange(len(recorded)), 0))]
    is_known = has_slt | (latex != b"")
    is_lead = np.zeros(len(slt), dtype=bool)
    is_lead[lead[is_known]] = True
    numbers = np.cumsum(is_lead) - 1
    return np.where(is_known, numbers[lead], -1)


def first_rows(values: Ids | NDArray[np.int64]) -> NDArray[np.intp]:
    """(n,) the first row with the same value."""
    order = np.argsort(values, kind="stable")
    in_order = values[order]
    begins = np.ones(len(values), dtype=bool)
    begins[1:] = in_order[1:] != in_order[:-1]
    del in_order  # with keys, as large as all other arrays together
    starts = np.maximum.accumulate(np.where(begins, np.arange(len(values)), 0))
    first = np.empty_like(order)
    first[order] = order[starts]
    return first


def _joined_ids(keys: Keys) -> Ids:
    """(n,) the id that each formula keeps or joins, empty if there is none. Rows are in the order of `id_order`."""
    visual = keys.kept.copy()
    has = np.flatnonzero(keys.kept != b"")
    if not len(has):
        return visual
    is_open = (keys.kept == b"") & (keys.slt != b"")
    visual[is_open] = _usual(keys.slt[has], keys.kept[has], keys.slt[is_open])
    is_open = (keys.kept == b"") & (keys.slt == b"")
    visual[is_open] = _usual(keys.latex[has], keys.kept[has], keys.latex[is_open])
    return visual


def _usual(key: Ids, value: Ids, wanted: Ids) -> Ids:
    """The most frequent value of each wanted key (the first one, if several are); empty for an unknown key."""
    keys, k = np.unique(key, return_inverse=True)
    values, v = np.unique(value, return_inverse=True)
    result = np.zeros(len(wanted), dtype=value.dtype)
    if not len(keys):
        return result
    pairs, first, n = np.unique(k * len(values) + v, return_index=True, return_counts=True)
    order = np.lexsort((first, -n, pairs // len(values)))
    # One pair per key, in the order of `keys`.
    _, best = np.unique(pairs[order] // len(values), return_index=True)
    usual = values[pairs[order][best] % len(values)]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    is_known = (keys[at] == wanted) & (wanted != b"")
    result[is_known] = usual[at[is_known]]
    return result


class Disagreement(NamedTuple):
    """The formulas with the same string and id, where the id has other strings, or the string has other ids.

    `row` is the first of them by id. `is_slt`: whether the string is an SLT string; otherwise it is LaTeX.
    """

    visual: bytes
    row: int
    n: int
    is_slt: bool
    n_strings: int  # of the id
    n_ids: int  # of the string


@dataclass(frozen=True, slots=True)
class Report:
    """Disagreements between given visual ids and the strings of formulas.

    Args:
        n_ids, n_strings: ids with an SLT string, and SLT strings with an id.
        split_ids: ids with several SLT strings.
        shared_strings: SLT strings with several ids.
        shared_latex: LaTeX with several ids, of formulas without an SLT string.
        details: the disagreements: SLT strings first, then by whether a string has several ids, by id and by row.
    """

    n_ids: int
    n_strings: int
    split_ids: int
    shared_strings: int
    shared_latex: int
    details: list[Disagreement]

    @property
    def n_formulas(self) -> int:
        """The number of formulas in disagreements."""
        return sum(detail.n for detail in self.details)


def report(keys: Keys) -> Report:
    """Compare given ids with strings. Several LaTeX strings with one id are not a disagreement: they may look alike."""
    order = id_order(keys.formula)
    has = order[keys.kept[order] != b""]
    by_slt = _pairs(keys, has[keys.slt[has] != b""], keys.slt, is_slt=True)
    by_latex = _pairs(keys, has[(keys.slt[has] == b"") & (keys.latex[has] != b"")], keys.latex, is_slt=False)
    faults = [pair for pair in by_slt.pairs if pair.n_strings > 1 or pair.n_ids > 1]
    faults += [pair for pair in by_latex.pairs if pair.n_ids > 1]
    return Report(
        n_ids=by_slt.n_ids,
        n_strings=by_slt.n_strings,
        split_ids=len({pair.visual for pair in by_slt.pairs if pair.n_strings > 1}),
        shared_strings=by_slt.n_shared,
        shared_latex=by_latex.n_shared,
        details=sorted(faults, key=lambda pair: (not pair.is_slt, pair.n_ids == 1, pair.visual, pair.row)),
    )


class _Pairs(NamedTuple):
    pairs: list[Disagreement]
    n_ids: int
    n_strings: int
    n_shared: int


def _pairs(keys: Keys, rows: NDArray[np.intp], key: Ids, *, is_slt: bool) -> _Pairs:
    """The pairs of id and string where one has several of the other. `rows` are in the order of `id_order`."""
    strings, s = np.unique(key[rows], return_inverse=True)
    ids, v = np.unique(keys.kept[rows], return_inverse=True)
    if not len(rows):
        return _Pairs([], 0, 0, 0)
    pairs, first, n = np.unique(s * len(ids) + v, return_index=True, return_counts=True)
    n_ids = np.bincount(pairs // len(ids), minlength=len(strings))
    n_strings = np.bincount(pairs % len(ids), minlength=len(ids))
    disagreements = []
    for i in np.flatnonzero((n_ids[pairs // len(ids)] > 1) | (n_strings[pairs % len(ids)] > 1)).tolist():
        string, at = divmod(int(pairs[i]), len(ids))
        row = int(rows[first[i]])
        disagreements.append(
            Disagreement(bytes(ids[at]), row, int(n[i]), is_slt, int(n_strings[at]), int(n_ids[string]))
        )
    return _Pairs(disagreements, len(ids), len(strings), int((n_ids > 1).sum()))
