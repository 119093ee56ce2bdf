"""Pools of runs, from a manifest or from memory."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from assay.digests import sha256_of
from assay.errors import InputError
from assay.formats.formulas import read_index
from assay.formats.manifest import read_manifest
from assay.formats.runs.columns import save
from assay.formats.runs.formulas import FormulaLookup, with_unknown
from assay.formats.runs.reader import UNUSED_RANKS, check_run
from assay.formats.topics.codes import read_topic_codes
from assay.formulas.columns import Formulas
from assay.nuggets.files import keys_by_topic, read_nuggets
from assay.plots import groups
from assay.pools.files import pool_tsv, read_docnos, record
from assay.pools.order import ORDERS
from assay.pools.strategies import (
    BuiltPool,
    ByTopic,
    PoolInput,
    beyond_limit,
    build_pool,
    check_strategies,
    depths_of,
    ranks_read,
    with_depth,
)
from assay.preferences.votes import Vote, read_votes
from assay.processes import map_forked
from assay.protocols.schema import JudgingOrder, Protocol, RunRules
from assay.research.evaluation import (
    PathLike,
    Runs,
    Values,
    named_runs,
    processes_for,
    protocol_of,
    run_from_any,
)
from assay.research.results import Figure, Result
from assay.tables import Cell, Table

NOTHING: Mapping[str, str] = {}
Docnos = Mapping[str, set[str]]  # by topic
Source = dict[str, str]  # the file of a run, or its name, with its digest


def pool(
    runs: Runs,
    *,
    seed: int = 1,
    protocol: PathLike | Protocol | None = None,
    depth: int | Mapping[str, int] | None = None,
    order: JudgingOrder | None = None,
    kinds: Mapping[str, str] = NOTHING,
    teams: Mapping[str, str] = NOTHING,
    topics: PathLike | Iterable[str] | None = None,
    formulas: Sequence[PathLike] = (),
    runs_per_team: int | None = None,
    known_items: PathLike | Mapping[str, Iterable[str]] | None = None,
    top_up: PathLike | Mapping[str, Iterable[str]] | None = None,
    nuggets: PathLike | None = None,
    votes: PathLike | None = None,
) -> "Pool":
    """Pool runs, as `assay pool` does. The same runs, protocol and seed give the same pool.

    Args:
        runs: the path of a manifest; or runs as for `assay.evaluate`.
        seed: of random orders and samples.
        protocol: slug of a shipped protocol or path of a TOML file. None: the top ranks of every run, in random order.
        depth: number of ranks, for all runs or by kind of run, instead of the protocol's.
        order: order of judging instead of the protocol's.
        kinds, teams: of runs that no manifest names; by default, the first kind of the protocol, and each run its own
            team.
        topics: the topics that runs may name, as a file or a list.
        formulas: formula indexes and maps of visual ids, for formulas.
        runs_per_team: pool only the first ones of each team.
        known_items: relevant docnos by topic, for known-item tasks; a file or a dictionary.
        top_up: an earlier pool, whose units are left out; a file or a dictionary.
        nuggets: a file with the lists of nuggets of the topics, for generated answers.
        votes: a file of votes on pairs of the earlier pools, if pairs are judged in rounds.

    Raises:
        InputError: A run has errors, or something else cannot be used.
        PoolError: The runs cannot be pooled as the protocol specifies.
    """
    if seed < 0:
        raise InputError(f"seed {seed}: use a whole number from 0")
    rules = protocol_of(protocol)
    if depth is None and not rules.slug:
        raise InputError("name the depth, such as 100, or a protocol, which has its own")
    depths = dict.fromkeys(rules.runs.depths, depth) if isinstance(depth, int) else dict(depth or {})
    rules = protocol_with_order(rules, depths, order)
    read = [read_index([Path(path) for path in formulas])] if formulas else [None]
    codes = read_topic_codes(Path(topics)) if isinstance(topics, (str, Path)) else topics
    lookup = formula_lookup(read[0])
    inputs, sources = _read(runs, rules, kinds, teams, depths, None if codes is None else list(codes), lookup)
    return build(
        inputs,
        sources,
        rules,
        seed=seed,
        depths=depths,
        formulas=read[0],
        known=_docnos(known_items),
        already=_docnos(top_up),
        nuggets=nuggets_of(nuggets, rules),
        votes=votes_of(votes, rules),
        runs_per_team=runs_per_team,
    )


def _docnos(source: PathLike | Mapping[str, Iterable[str]] | None) -> Docnos | None:
    if source is None or isinstance(source, Mapping):
        return None if source is None else {str(topic): set(map(str, own)) for topic, own in source.items()}
    return read_docnos(Path(source))


def nuggets_of(path: PathLike | None, protocol: Protocol) -> dict[str, list[str]]:
    """The keys of the nuggets of each topic, of a file.

    Raises:
        InputError: The file cannot be used, or the protocol has no generated answers.
    """
    if path is None:
        return {}
    if not protocol.judged.has_nuggets:
        raise InputError("--nuggets is for generated answers, and the protocol has none")
    lists = read_nuggets(Path(path).read_bytes(), str(path))
    if problems := [problem for nugget_list in lists for problem in nugget_list.problems(protocol.nuggets)]:
        raise InputError(f"{path}: {problems[0]} ({len(problems)} in all: assay nuggets check)")
    return keys_by_topic(lists)


def votes_of(path: PathLike | None, protocol: Protocol) -> Sequence[Vote]:
    """The votes of a file, for pairs that are judged in rounds.

    Raises:
        InputError: The file cannot be used, or the protocol judges no pairs.
    """
    if path is None:
        return ()
    if not protocol.judged.has_votes:
        raise InputError(f"--votes: {protocol.slug} judges no pairs; leave the option out")
    return read_votes(str(path))


def formula_lookup(formulas: Formulas | None, *, allows_unknown: bool = False) -> FormulaLookup | None:
    """Return the lookup of formulas for a check of runs."""
    if formulas is None:
        return None
    return (lambda ids: with_unknown(formulas, ids)) if allows_unknown else lambda _: formulas


def protocol_with_order(
    protocol: Protocol, depths: Mapping[str, int], order: JudgingOrder | None
) -> Protocol:
    """The protocol with another order of judging, checked before any run is read.

    Raises:
        PoolError: It cannot be pooled by.
        InputError: There is no such order.
    """
    if order is not None:
        if order not in ORDERS:
            raise InputError(f"there is no order {order!r}; use {', '.join(sorted(ORDERS))}")
        protocol = replace(protocol, pool=replace(protocol.pool, order=order))
    check_strategies(protocol)
    with_depth(protocol.runs, depths)
    return protocol


def _read(
    runs: Runs,
    protocol: Protocol,
    kinds: Mapping[str, str],
    teams: Mapping[str, str],
    depths: Mapping[str, int],
    topics: Sequence[str] | None,
    lookup: FormulaLookup | None,
) -> tuple[list[PoolInput], list[Source]]:
    """The runs to their depths, each with its file or name, and its digest."""
    if not protocol.runs.keys:
        raise InputError(f"the protocol {protocol.slug} has no runs to pool")
    if isinstance(runs, (str, Path)):
        listed = [
            (run.tag, run.file, run.team, run.kind, run.pooled_as)
            for run in read_manifest(Path(runs), protocol)
        ]
    else:
        listed = [
            (name, values, teams.get(name, name), kinds.get(name, protocol.runs.keys[0]), "")
            for name, values in named_runs(runs).items()
        ]

    def read(run: tuple[str, Values, str, str, str]) -> tuple[PoolInput, Source]:
        name, values, team, kind, pooled_as = run
        if kind not in protocol.runs.keys:
            raise InputError(f"{name}: kind {kind!r} is not one of {', '.join(protocol.runs.keys)}")
        most = ranks_read(protocol, kind, name, pooled_as, depths)
        columns, source = _run(name, values, protocol, topics, lookup, most)
        return PoolInput(columns, team, name, kind, pooled_as), source

    processes = processes_for(values for _, values, *_ in listed)
    pooled = map_forked(read, listed, processes=processes, refusals=(InputError, OSError))
    return [run for run, _ in pooled], [source for _, source in pooled]


def _run(
    name: str,
    values: Values,
    protocol: Protocol,
    topics: Sequence[str] | None,
    lookup: FormulaLookup | None,
    depth: int | None,
) -> tuple[Any, Source]:
    if not isinstance(values, (str, Path)):
        columns = run_from_any(values, name, protocol)
        unknown = [] if topics is None else sorted(set(columns.topics.tolist()) - set(topics))
        if unknown:
            raise InputError(
                f"{name}: unknown topic {unknown[0]}; use one of the topics given, {len(set(topics or ()))} in all"
            )
        pooled = columns if depth is None else columns.cut(depth)
        return pooled, {"run": name, "sha256": sha256_of(save(columns))}
    path = Path(values)
    checked = check_run(
        path,
        protocol=protocol,
        topics=topics,
        formulas=lookup,
        name=path.name,
        tolerated=UNUSED_RANKS,
        warns=False,
        depth=depth,
    )
    if checked.columns is None:
        first, *more = checked.report.errors
        rest = f" (and {len(more)} more: assay check names them all)" if more else ""
        raise InputError(f"{path}: {first}{rest}")
    return checked.columns, {"file": path.name, "sha256": checked.report.sha256}


def build(
    inputs: Sequence[PoolInput],
    sources: Sequence[Source],
    protocol: Protocol,
    *,
    seed: int,
    depths: Mapping[str, int],
    formulas: Formulas | None = None,
    known: Docnos | None = None,
    already: Docnos | None = None,
    tied: Docnos | None = None,
    nuggets: ByTopic | None = None,
    votes: Sequence[Vote] = (),
    runs_per_team: int | None = None,
    others: Mapping[str, object] | None = None,
) -> "Pool":
    """The pool of runs that are read, with its record.

    Args:
        sources: the file of each run and its digest.
        runs_per_team: the number of runs of each team that count; None: all.
        others: other inputs, for the record.
    """
    beyond = beyond_team_limit(inputs, protocol.runs, depths, runs_per_team)
    kept = [run for run, is_beyond in zip(inputs, beyond, strict=True) if not is_beyond]
    built = build_pool(
        kept,
        protocol=protocol,
        seed=seed,
        depth=depths,
        formulas=formulas,
        known=known,
        already=already,
        tied=tied,
        nuggets=nuggets,
        votes=votes,
    )
    data = pool_tsv(built)
    left_out = [
        {**source, "team": run.team, "tag": run.tag}
        for run, source, is_beyond in zip(inputs, sources, beyond, strict=True)
        if is_beyond
    ]
    limit = {} if runs_per_team is None else {"runs_per_team": runs_per_team, "left_out": left_out}
    description = record(
        built,
        kept,
        protocol=protocol,
        seed=seed,
        sha256=sha256_of(data),
        sources=[source for source, is_beyond in zip(sources, beyond, strict=True) if not is_beyond],
        others={**(others or {}), **limit},
    )
    return Pool(built, kept, data, description)


def beyond_team_limit(
    inputs: Sequence[PoolInput], rules: RunRules, depths: Mapping[str, int], most: int | None
) -> list[bool]:
    """(runs,) whether each run comes after the first `most` of its team; see `beyond_limit`."""
    is_baseline = [rules.kind(run.kind).baseline for run in inputs]
    teams = [run.team for run in inputs]
    return beyond_limit(teams, is_baseline, depths_of(inputs, rules, depths), most=most)


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Result):
    """A pool. Its tables are `pool`, `topics` and `runs`.

    Args:
        built: the units with their positions, and what each run contributed.
        data: the file of the pool; `record` has its SHA-256, and everything that is needed to build it again.
    """

    built: BuiltPool
    inputs: list[PoolInput]
    data: bytes
    record: dict[str, Any]

    @cached_property
    def tables(self) -> list[Table]:
        """Topic, document and position of each unit; units by topic; and what each run contributed."""
        units = self.built.units
        order = np.lexsort((self.built.position, units.topic_index))
        codes = units.topics.tolist()
        columns = (units.topic_index, units.docno, self.built.position)
        rows: list[tuple[Cell, ...]] = [
            (codes[topic], docno.decode(), position)
            for topic, docno, position in zip(*(column[order].tolist() for column in columns), strict=True)
        ]
        names = ("tag", "team", "kind", "depth", "n", "alone")
        return [
            Table("pool", "units in the order of judging", ("topic", "docno", "position"), rows),
            Table(
                "topics",
                "units of each topic",
                ("topic", "units"),
                [(topic["topic"], topic["n"]) for topic in self.record["topics"]],
            ),
            Table(
                "runs",
                "units that each run contributed, and that it alone contributed",
                ("run", "team", "kind", "depth", "units", "alone"),
                [tuple(run[name] for name in names) for run in self.record["runs"]],
            ),
        ]

    def write(self, path: PathLike) -> None:
        """Write the pool, and its record as FILE.json next to it."""
        file = Path(path)
        file.write_bytes(self.data)
        text = json.dumps(self.record, ensure_ascii=False, indent=1) + "\n"
        record_path = file.with_name(file.name + ".json")
        record_path.write_text(text, encoding="utf-8", errors="backslashreplace")

    def plot(self) -> Figure:
        """The number of units of each topic."""
        topics = self.table("topics").rows
        labels, sizes = [f"{code}" for code, _ in topics], [float(f"{n}") for _, n in topics]
        return Figure(
            groups("topics", "Units of each topic", labels, [("units", sizes)], across="Topic", up="Units")
        )
