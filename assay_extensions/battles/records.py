"""Files of battles, as arena-rank and RAGDoll have them, and as Assay writes them.

- A table, separated by tabs or commas, with the columns `model_a`, `model_b` and `winner` in its first line, and
  perhaps `battle`, `topic` and `assessor`. The winner is `model_a`, `model_b`, `tie` or `both_bad`.
- JSON lines of RAGDoll: `qid`, `assistant_a_run_id`, `assistant_b_run_id`, `judge_verdict` and `status`. Battles that
  failed are left out.

Sources: arena-rank 0.1.1; RAGDoll 1f06719.
"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain
from typing import NamedTuple

from assay.errors import InputError
from assay.formats.spreadsheet import as_csv
from assay.structure import strict_json

COLUMNS = ("battle", "topic", "model_a", "model_b", "winner", "assessor")
NEEDED = ("model_a", "model_b", "winner")
A, B, TIE, BOTH_BAD = "model_a", "model_b", "tie", "both_bad"
WINNERS = (A, B, TIE, BOTH_BAD)
SHARES = {A: 1.0, B: 0.0, TIE: 0.5, BOTH_BAD: 0.5}  # of the win, for the answer on side A
VERDICTS = {"a": A, "b": B, "tie": TIE, "tie (both acceptable)": TIE, "tie (both bad)": BOTH_BAD,
            "both_good": TIE, "both_acceptable": TIE, "both_bad": BOTH_BAD}  # fmt: skip
MOST_ERRORS = 10


class Battle(NamedTuple):
    """A judged battle. `model_a` was on the left; `winner` is one of `WINNERS`; an assessor may be a program."""

    topic: str
    model_a: str
    model_b: str
    winner: str
    assessor: str = ""

    @property
    def share(self) -> float:
        """The share of the win that `model_a` gets: 1, 0, or 1/2 for a tie and for two bad answers."""
        return SHARES[self.winner]

    @property
    def pair(self) -> tuple[str, str]:
        """The systems, without their sides."""
        return (self.model_a, self.model_b) if self.model_a < self.model_b else (self.model_b, self.model_a)

    @property
    def preferred(self) -> str:
        """The system that won; for others the word of the winner."""
        return {A: self.model_a, B: self.model_b}.get(self.winner, self.winner)


class ReadBattles(NamedTuple):
    """The battles of a file, and the number of those that it calls failed."""

    battles: list[Battle]
    n_failed: int


def read_battles(text: str, name: str) -> ReadBattles:
    """The battles of the text of a file; the first line decides its form.

    Raises:
        InputError: Lines are wrong, each with its number, or there are no battles.
    """
    errors: list[str] = []
    battles, n_failed = [], 0
    for number, battle in rows_of(StringIO(text, newline="")):
        if battle is None:
            n_failed += 1
        elif isinstance(battle, str):
            errors.append(f"line {number}: {battle}")
        else:
            battles.append(battle)
    if errors:
        more = [f"and {len(errors) - MOST_ERRORS:,} more"] if len(errors) > MOST_ERRORS else []
        raise InputError("\n".join([*(f"{name}, {error}" for error in errors[:MOST_ERRORS]), *more]))
    if not battles:
        raise InputError(f"{name}: it has no battles")
    return ReadBattles(battles, n_failed)


Row = tuple[
    int, Battle | str | None
]  # its line: a battle, what is wrong with it, or None for one that failed


def rows_of(lines: Iterable[str]) -> Iterator[Row]:
    """The battles of a file, one after another."""
    rest = iter(lines)
    start = list(_until_text(rest))
    head = start[-1] if start else ""
    every = chain(start, rest)
    return _json_rows(every) if _is_json(head) else _table_rows(every, "\t" if "\t" in head else ",")


def has_battles(line: str) -> bool:
    """Return whether a file with this first line has battles, and not judgments of another form."""
    if _is_json(line):
        return '"assistant_a_run_id"' in line
    return any(word in {A, B} for word in _words(line.replace("\t", ",").split(",")))


def _is_json(line: str) -> bool:
    return line.lstrip("\ufeff \t")[:1] == "{"


def _words(cells: Iterable[str]) -> list[str]:
    return [cell.strip('\ufeff \r\n"').lower() for cell in cells]


def _until_text(lines: Iterator[str]) -> Iterator[str]:
    """The lines up to the first one that is not blank."""
    for line in lines:
        yield line
        if line.strip():
            return


def _table_rows(lines: Iterable[str], delimiter: str) -> Iterator[Row]:
    reader = csv.reader(lines, delimiter=delimiter)
    rows = (row for row in reader if any(cell.strip() for cell in row))
    header = _words(next(rows, []))
    if missing := [column for column in NEEDED if header.count(column) != 1]:
        message = (
            f"the column {missing[0]} must be named once; the first line names the columns {', '.join(NEEDED)} and, "
            "optionally, battle, topic and assessor"
        )
        yield max(reader.line_num, 1), message
        return
    for row in rows:
        if len(row) != len(header):
            yield reader.line_num, "its number of columns differs from the first line"
        else:
            cells = (cell.strip() for cell in row)
            yield reader.line_num, _battle(dict(zip(header, cells, strict=True)))


def _json_rows(lines: Iterable[str]) -> Iterator[Row]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = strict_json(line.lstrip("\ufeff"))
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            yield number, "it is not a JSON object"
        elif row.get("status", "completed") != "completed":
            yield number, None
        else:
            yield number, _battle(_of_json(row))


def _of_json(row: Mapping[str, object]) -> dict[str, str]:
    verdict = str(row.get("judge_verdict") or "").strip()
    return {
        "topic": str(row.get("qid") or ""),
        A: str(row.get("assistant_a_run_id") or ""),
        B: str(row.get("assistant_b_run_id") or ""),
        "winner": VERDICTS.get(verdict.lower(), verdict),
        "assessor": str(row.get("model") or ""),
    }


def _battle(row: Mapping[str, str]) -> Battle | str:
    """The battle of a row, or what is wrong with it."""
    for side in (A, B):
        if not row.get(side):
            return f"{side} is empty"
    if row[A] == row[B]:
        return f"{row[A]} is on both sides"
    if row.get("winner") not in WINNERS:
        return f"winner is {row.get('winner', '')[:40]!r}; expected {', '.join(WINNERS)}"
    return Battle(*(row.get(key, "") for key in COLUMNS[1:]))


def as_tsv(battles: Sequence[Battle]) -> str:
    """The battles as a table with all columns, separated by tabs."""
    lines = ["\t".join(COLUMNS)]
    lines += ["\t".join((f"b{number:04}", *battle)) for number, battle in enumerate(battles, 1)]
    return "\n".join(lines) + "\n"


def as_arena(battles: Sequence[Battle]) -> str:
    """The battles as arena-rank reads them: model_a, model_b and winner, separated by commas."""
    rows = [(battle.model_a, battle.model_b, battle.winner) for battle in battles]
    return as_csv(NEEDED, rows, line_end="\n")


def as_ragdoll(battles: Sequence[Battle]) -> str:
    """The battles as RAGDoll's `judgments.jsonl`."""
    words = {A: "A", B: "B", TIE: "tie (both acceptable)", BOTH_BAD: "tie (both bad)"}
    rows = [
        {
            "task_id": f"arena:{first}:{second}:{battle.topic}",
            "qid": battle.topic,
            "pair": [first, second],
            "assistant_a_run_id": battle.model_a,
            "assistant_b_run_id": battle.model_b,
            "judge_verdict": words[battle.winner],
            "preferred_run_id": battle.preferred if battle.winner in {A, B} else None,
            "model": battle.assessor,
            "status": "completed",
        }
        for battle in battles
        for first, second in [battle.pair]
    ]
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class Form(NamedTuple):
    """A form of files of battles, and the ending of their names."""

    write: Callable[[Sequence[Battle]], str]
    ending: str


FORMS = {"tsv": Form(as_tsv, "tsv"), "arena": Form(as_arena, "csv"), "ragdoll": Form(as_ragdoll, "jsonl")}
