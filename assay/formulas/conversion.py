r"""Converts formulas from LaTeX to MathML, with any converter behind one interface, and keeps the results.

    LaTeXML        Presentation and Content MathML, as ARQMath used it; an external program
    latex2mathml   Presentation MathML only, in pure Python, 200 times as fast; `assay.formulas.grouping` repairs it

`auto` is LaTeXML where it is installed. Visual ids need one converter for a whole collection, and ARQMath's own ids
need LaTeXML: see ADR 10.

`fill` converts what a `Cache` does not have. The cache is an SQLite file that several processes of one machine share,
so the work can be divided among them in any way, and be continued after any of them was ended.
"""

import hashlib
import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, Literal, NamedTuple, Self, get_args

from assay.errors import InputError
from assay.formulas import latexml
from assay.formulas.latexml import Conversion
from assay.formulas.source import prepared
from assay.processes import map_fresh

Name = Literal["auto", "latexml", "latex2mathml"]
NAMES: Final[tuple[str, ...]] = get_args(Name)
BATCH: Final = 100
Convert = Callable[[Sequence[str]], Iterator[tuple[Sequence[str], Sequence[Conversion]]]]
_AT_ONCE: Final = 500  # keys of a question to SQLite
_WAIT: Final = 300  # seconds until another process has written


class Converter(NamedTuple):
    """A converter that can be used here. `full_name` is for manifests: cached results of another one are not used."""

    name: str
    version: str
    has_content: bool

    @property
    def full_name(self) -> str:
        return f"{self.name} {self.version}"

    @classmethod
    def named(cls, name: str) -> Self:
        """The converter of a name; `auto` is LaTeXML where it is installed.

        Raises `InputError` if the name is unknown, or the program or package is not installed.
        """
        if name == "auto":
            name = "latexml" if shutil.which(latexml.PROGRAM) else "latex2mathml"
        if name == "latexml":
            return cls(name, latexml.version(), has_content=True)
        if name != "latex2mathml":
            raise InputError(f"There is no converter {name}; use {', '.join(NAMES)}.")
        try:
            return cls(name, version(name), has_content=False)
        except PackageNotFoundError:
            raise InputError(
                'latex2mathml is not installed. Install it with pip install "assay[formulas]", or LaTeXML '
                "(Debian, Ubuntu: apt-get install latexml), which makes Content MathML, too."
            ) from None


def convert_batch(name: str, formulas: Sequence[str]) -> list[Conversion]:
    """The MathML of some formulas by the converter of a name, in their order; a failure has a message."""
    results: list[Conversion | None] = []
    sources = []
    for formula in formulas:
        try:
            sources.append(prepared(formula))
            results.append(None)
        except ValueError as error:
            results.append(Conversion(message=str(error)))
    converted = iter(latexml.convert(sources) if name == "latexml" else map(_in_python, sources))
    return [next(converted) if result is None else result for result in results]


def _in_python(formula: str) -> Conversion:
    from assay.formulas.grouping import presentation_of  # noqa: PLC0415 -- latex2mathml is an extra

    try:
        return Conversion(presentation_of(formula))
    except ValueError as error:
        return Conversion(message=str(error))


class Cache:
    """The results of a converter by the text of the formula, in an SQLite file.

    Any number of processes of this machine may read and write it. Each batch is written at once, so that a process
    that is killed loses at most one batch.
    """

    def __init__(self, path: Path, converter: Converter) -> None:
        self.path, self.converter = path, converter
        try:
            with closing(self._opened()) as file, file:
                file.execute("PRAGMA journal_mode=WAL")
                file.execute(
                    "CREATE TABLE IF NOT EXISTS formula (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID"
                )
        except sqlite3.Error as error:
            raise InputError(f"{path} cannot be used as a cache of formulas: {error}.") from None

    def _opened(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=_WAIT)

    def _key(self, formula: str) -> bytes:
        text = f"{self.converter.full_name}\0{formula}"
        return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()

    def known(self, formulas: Sequence[str]) -> dict[str, Conversion]:
        """The results of those formulas that were converted before."""
        results: dict[str, Conversion] = {}
        with closing(self._opened()) as file:
            for start in range(0, len(formulas), _AT_ONCE):
                by_key = {self._key(formula): formula for formula in formulas[start : start + _AT_ONCE]}
                marks = ",".join("?" * len(by_key))
                query = f"SELECT key, value FROM formula WHERE key IN ({marks})"  # noqa: S608 -- question marks
                for key, value in file.execute(query, tuple(by_key)):
                    results[by_key[key]] = Conversion(*json.loads(zlib.decompress(value)))
        return results

    def add(self, results: Mapping[str, Conversion]) -> None:
        """Keep results, all or none."""
        rows = [
            (self._key(formula), zlib.compress(json.dumps(result, ensure_ascii=False).encode()))
            for formula, result in results.items()
        ]
        with closing(self._opened()) as file, file:
            file.executemany("INSERT OR REPLACE INTO formula VALUES (?, ?)", rows)


def fill(
    cache: Cache,
    formulas: Iterable[str],
    *,
    processes: int = 0,
    convert: Convert | None = None,
    progress: Callable[[int, int], object] = lambda _done, _total: None,
) -> dict[str, Conversion]:
    """Convert the formulas that a cache does not have, each once, and return the results of all.

    Args:
        formulas: LaTeX without delimiters, as `assay.formulas.extraction` finds it.
        processes: that convert at the same time; 0 converts in this one.
        convert: converts them elsewhere, as the site does: gives some formulas with their results, in any order.
        progress: called with the number of finished formulas and the number of all that are to be converted.
    """
    unique = sorted(set(formulas))
    results = cache.known(unique)
    missing = [formula for formula in unique if formula not in results]
    progress(0, len(missing))
    done = 0
    convert = convert or partial(converted_in_batches, cache.converter.name, processes=processes)
    for batch, converted in convert(missing):
        new = dict(zip(batch, converted, strict=True))
        cache.add(new)
        results |= new
        done += len(batch)
        progress(done, len(missing))
    return results


def converted_in_batches(
    name: str, formulas: Sequence[str], *, processes: int
) -> Iterator[tuple[Sequence[str], list[Conversion]]]:
    """Formulas in batches, each with its results by the converter of a name."""
    batches = (formulas[start : start + BATCH] for start in range(0, len(formulas), BATCH))
    return map_fresh(partial(convert_batch, name), batches, processes=processes)
