"""A package of blinded runs: made of runs and their map, and checked."""

import csv
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import NamedTuple

from assay.errors import InputError, plural
from assay.formats.spreadsheet import as_csv
from assay_extensions.blinding.pseudonyms import KEPT, REPLACED, BlindMap
from assay_extensions.blinding.runs import blinded
from assay_extensions.blinding.words import Terms

MANIFEST, README, SUMS = "manifest.csv", "README.md", "SHA256SUMS"
COLUMNS = ("file", "team", "tag", "kind")
HEADER = ("run", "term", "n", "example", "decision")


@dataclass(frozen=True)
class NamedRun:
    """A run as it was submitted. `words` give its team away, besides the names of teams and runs."""

    team: str
    tag: str
    kind: str
    text: str
    words: tuple[str, ...] = ()


class GiveAway(NamedTuple):
    """A term in a blinded run, and the decision about it: `keep`, `replace`, or none yet."""

    run: str
    term: str
    n: int
    example: str
    decision: str


class Blinded(NamedTuple):
    """The files of a package by name, without it if a decision is missing, and what was found in the texts."""

    files: dict[str, str]
    blind: BlindMap
    give_aways: list[GiveAway]

    @property
    def undecided(self) -> list[GiveAway]:
        return [row for row in self.give_aways if not row.decision]


def blind_runs(
    runs: Sequence[NamedRun],
    blind: BlindMap,
    decisions: Mapping[tuple[str, str], str],
    *,
    title: str,
    words: Iterable[str] = (),
) -> Blinded:
    """Blind runs. The rest of each run is searched for names of teams and runs, and for further words.

    Args:
        decisions: `keep` or `replace` by pseudonym of the run and term.
        title: of the README.
        words: that are looked for in all runs.

    Raises:
        InputError: A run is in a form that cannot be blinded.
    """
    blind = blind.extended([run.team for run in runs], [run.tag for run in runs])
    shared = [*blind.teams, *blind.runs, *words]
    files, give_aways, kept, rows = (
        dict[str, str](),
        list[GiveAway](),
        dict[str, list[str]](),
        list[list[str]](),
    )
    for run in sorted(runs, key=lambda run: blind.runs[run.tag]):
        pseudonym, team = blind.runs[run.tag], blind.teams[run.team]
        text = blinded(run.text, team=team, run=pseudonym, name=run.tag)
        in_run = Terms([*shared, *run.words]).found(text)
        given = {place.term: decisions.get((pseudonym, place.term), "") for place in in_run}
        give_aways += [GiveAway(pseudonym, *place, given[place.term]) for place in in_run]
        if kept_terms := [term for term, decision in given.items() if decision == KEPT]:
            kept[pseudonym] = kept_terms
        text = Terms(term for term, decision in given.items() if decision == REPLACED).replaced(text)
        name = f"runs/{pseudonym}.{'jsonl' if text.startswith('{') else 'txt'}"
        files[name] = text
        rows.append([name, team, pseudonym, run.kind])
    blind = replace(blind, kept=kept)
    if not all(row.decision for row in give_aways):
        return Blinded({}, blind, give_aways)
    files[MANIFEST] = as_csv(COLUMNS, rows)
    files[README] = _readme(title, len(runs), len({run.team for run in runs}))
    sums = (f"{_sha256(text)}  {name}\n" for name, text in sorted(files.items()))
    files[SUMS] = "".join(sums)
    return Blinded(files, blind, give_aways)


def _readme(title: str, n_runs: int, n_teams: int) -> str:
    return (
        f"# {title}\n\n"
        f"{plural(n_runs, 'run')} of {plural(n_teams, 'team')}, under pseudonyms. `{MANIFEST}` has the pseudonym of "
        "the team and of the run of each file.\n\n"
        "Order, documents and texts are those of the runs. Teams recognize their own answers, and a run that "
        "was published before is recognized too. Do not try to find out who made a run.\n"
    )


def problems(files: Mapping[str, str], blind: BlindMap, words: Iterable[str] = ()) -> Iterator[str]:
    """Faults of a package: a name that is left, a digest that differs, or a run that the map does not have."""
    sums = (line.partition("  ") for line in files.get(SUMS, "").splitlines())
    listed = {name: digest for digest, _, name in sums}
    for name in sorted({*listed, *files} - {SUMS}):
        if name not in files:
            yield f"{name} is missing"
        elif listed.get(name) != _sha256(files[name]):
            yield f"{name} does not have the digest of {SUMS}"
    teams, runs = {*blind.teams.values()}, {*blind.runs.values()}
    for row in csv.DictReader(StringIO(files.get(MANIFEST, ""), newline="")):
        if row.get("team") not in teams or row.get("tag") not in runs:
            yield f"{MANIFEST}: the map has no run {row.get('tag')} of {row.get('team')}"
    terms = Terms([*blind.teams, *blind.runs, *words])
    for name, text in sorted(files.items()):
        if name.startswith("runs/"):
            run = name.removeprefix("runs/").partition(".")[0]
            if run not in runs:
                yield f"{name}: the map has no run {run}"
            for place in terms.found(text):
                if place.term not in blind.kept.get(run, ()):
                    yield f"{name}: “{place.term}” {plural(place.n, 'time')}: {place.example}"


def decisions_in(rows: Iterable[tuple[int, Mapping[str, str]]], name: str) -> dict[tuple[str, str], str]:
    """The decisions in the rows of a file, by pseudonym and term.

    Raises InputError: one is neither `keep` nor `replace` nor empty.
    """
    decisions = {}
    for line, row in rows:
        decision = row["decision"].strip().lower()
        if decision not in {"", KEPT, REPLACED}:
            raise InputError(f"{name}: line {line}: decision {decision!r}; use {KEPT} or {REPLACED}")
        decisions[row["run"], row["term"]] = decision
    return decisions


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
