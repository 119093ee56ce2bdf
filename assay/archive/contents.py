"""The contents of an archive in the form in which the library computes: protocols, columns of runs, pools, qrels."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, BinaryIO

import numpy as np

from assay.archive.files import BadArchive, SealedZip, refusing
from assay.archive.parts import part_file
from assay.archive.records import (
    FORMULAS,
    INDEX,
    MAX_JSON,
    NUGGETS,
    ROWS,
    TOPICS,
    Index,
    LeaderboardRecord,
    PhaseRecord,
    PoolRecord,
    QrelsRecord,
    RowRecord,
    RunRecord,
    parsed,
)
from assay.errors import InputError
from assay.extensions import ExtensionMissing
from assay.formats.compression import Limits
from assay.formats.documents.batch import Unusable
from assay.formats.qrels.reader import QrelsColumns, QrelsError, QrelsForm, parse_qrels
from assay.formats.runs.columns import Ranked, RunColumns
from assay.formats.runs.formulas import with_unknown
from assay.formats.runs.reader import CheckedRun, check_run
from assay.formats.topics.facts import TopicFacts
from assay.formulas import PLACES
from assay.formulas.columns import Formulas
from assay.measures.matching import JudgedDocuments
from assay.measures.scores import RunScores, score_run
from assay.measures.units import DuplicatesError, collapse_instances, with_duplicates
from assay.nuggets.lists import Nugget
from assay.nuggets.records import NuggetListRecord
from assay.pools.pairs import votes_in
from assay.pools.strategies import BuiltPool, ByTopic, PoolInput, build_pool, ranks_read
from assay.protocols.loader import ProtocolError, parse_protocol, read_checked
from assay.protocols.measures import MeasureError, parse_measures
from assay.protocols.schema import Protocol
from assay.qrels.freezing import Unit, given_grades

MOST_ROWS = 1_000_000  # of whole runs in memory; other runs are read again when they are needed
FORMULA_COLUMNS = ("formula_id", "post_id", "thread_id", "place", "visual_id")


class Reader(SealedZip):
    """The file of an archive of a track, with its index. Anybody can have written it."""

    max_whole = MAX_JSON
    max_ratio = Limits().max_ratio

    def __init__(self, file: BinaryIO, name: str) -> None:
        super().__init__(file, name, index=INDEX, noun="an archive of a track")
        self.index: Index = parsed(Index, self.read(INDEX), INDEX)


class Contents:
    """An archive whose files are read when they are needed. What several steps need is read once.

    Of many runs, only the ranks that pools read stay in memory.
    """

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.index = reader.index
        self.runs = {run.number: run for run in self.index.runs}
        self.pools = {pool.number: pool for pool in self.index.pools}
        self.qrels = {qrels.version: qrels for qrels in self.index.qrels}
        self._columns: dict[int, RunColumns] = {}
        self._pooled: dict[int, RunColumns] = {}

    @cached_property
    def protocols(self) -> dict[str, Protocol]:
        """By slug. Their digests are those of the index."""
        protocols = {}
        for record in self.index.protocols:
            with refusing(record.file, ProtocolError, UnicodeDecodeError):
                text = self.reader.read(record.file).decode()
                if "extensions" in text and (missing := read_checked(text, name=record.file).missing):
                    names = ", ".join(sorted(missing))
                    raise ExtensionMissing(f"{record.file}: it needs the extension {names}; install it first")
                protocol = parse_protocol(text, name=record.file)
            if protocol.digest != record.sha256 or record.slug not in (protocol.slug, protocol.edition):
                raise BadArchive(f"{record.file}: it is not the protocol {record.slug} of the index.")
            protocols[record.slug] = protocol
        return protocols

    def protocol(self, slug: str) -> Protocol:
        if slug not in self.protocols:
            raise BadArchive(f"The archive has no protocol {slug}.")
        return self.protocols[slug]

    @cached_property
    def topics(self) -> list[TopicFacts]:
        lines = self.reader.lines(TOPICS)
        return [parsed(TopicFacts, line, f"{TOPICS}, line {number}") for number, line in enumerate(lines, 1)]

    @cached_property
    def table(self) -> list[RowRecord]:
        """The rows of the table that forms show; none if documents are judged.

        Raises:
            BadArchive: A row is of no topic of the archive, or there twice.
        """
        if ROWS not in self.reader.names:
            return []
        lines = enumerate(self.reader.lines(ROWS), 1)
        rows = [parsed(RowRecord, line, f"{ROWS}, line {number}") for number, line in lines]
        codes, seen = {topic.code for topic in self.topics}, set()
        for number, row in enumerate(rows, 1):
            if row.topic not in codes or (row.topic, row.docno) in seen:
                problem = "is there twice" if row.topic in codes else "is of no topic of the archive"
                raise BadArchive(f"{ROWS}, line {number}: {row.topic} {row.docno} {problem}.")
            seen.add((row.topic, row.docno))
        return rows

    @cached_property
    def formulas(self) -> Formulas | None:
        """The formulas of the runs; None if they have none."""
        if FORMULAS not in self.reader.names:
            return None
        rows = [tuple(cells) for cells in self.rows(FORMULAS, len(FORMULA_COLUMNS))][1:]
        with refusing(FORMULAS, ValueError):
            return Formulas.of(rows)  # type: ignore[arg-type]  # the number of columns is checked

    @cached_property
    def nugget_lists(self) -> dict[tuple[str, int], NuggetListRecord]:
        """The frozen versions of the nuggets, by topic and version.

        Raises:
            BadArchive: A version is there twice.
        """
        lists: dict[tuple[str, int], NuggetListRecord] = {}
        for number, line in enumerate(self.reader.lines(NUGGETS), 1) if self.index.n_nugget_lists else ():
            record = parsed(NuggetListRecord, line, f"{NUGGETS}, line {number}")
            if lists.setdefault((record.topic, record.version), record) is not record:
                raise BadArchive(
                    f"{NUGGETS}, line {number}: topic {record.topic[:80]} has this version twice."
                )
        return lists

    def nuggets_of(self, pool: PoolRecord) -> dict[str, list[Nugget]]:
        """The nuggets against which the answers of a pool are judged, by topic.

        Raises:
            BadArchive: The archive lacks a version that the pool names.
        """
        missing = [code for code, version in pool.nuggets.items() if (code, version) not in self.nugget_lists]
        if missing:
            raise BadArchive(
                f"{NUGGETS}: the nuggets of topic {missing[0][:80]} of the pool “{pool.name}” are missing."
            )
        return {code: self.nugget_lists[code, version].nuggets for code, version in pool.nuggets.items()}

    def checked(self, run: RunRecord) -> CheckedRun:
        """The check of a run, as at its submission."""
        lookup = None if self.formulas is None else partial(with_unknown, self.formulas)
        with self.reader.opened(run.file) as file:
            checked = check_run(
                file,
                protocol=self.protocol(self.index.track.protocol),
                topics=[topic.code for topic in self.topics],
                formulas=lookup,
                name=run.file_name,
            )
        if checked.columns is not None:
            self._keep(run, checked.columns)
        return checked

    def _keep(self, run: RunRecord, columns: RunColumns) -> None:
        """Keep a run while there is room; of other runs, only the ranks that all of their pools read."""
        if sum(map(len, self._columns.values())) + len(columns) <= MOST_ROWS:
            self._columns[run.number] = self._in_order(columns)
        elif depths := [
            self._ranks_read(pool, run)
            for pool in self.pools.values()
            if any(pooled.run == run.number for pooled in pool.runs)
        ]:
            most = max(len(columns) if depth is None else depth for depth in depths)
            self._pooled[run.number] = self._in_order(columns.cut(most))

    def _ranks_read(self, pool: PoolRecord, run: RunRecord) -> int | None:
        with refusing(f"The pool “{pool.name}” cannot be built again", InputError):
            protocol = self.protocol(pool.protocol)
            return ranks_read(protocol, run.kind, run.tag, run.pooled_as, pool.depth)

    def given_grades(self, qrels: QrelsRecord) -> dict[Unit, int]:
        """The grades that the developers of the topics gave to citations, if the protocol of the qrels uses them."""
        sources = ((topic.code, topic.source) for topic in self.topics if topic.source)
        with refusing("A topic cannot be read", Unusable):
            return given_grades(sources, self.protocol(qrels.protocol))

    def columns(self, run: int) -> RunColumns:
        """The columns of a run, without the scores and ranks that nothing needs once the rows are in order.

        Ranks number the sentences of answers, and scores order the distinct formulas to which instances collapse.
        """
        if run in self._columns:
            return self._columns[run]
        columns = self.checked(self._run(run)).columns
        if columns is None:
            raise BadArchive(f"{self.runs[run].file}: the run has errors.")
        return self._in_order(columns)

    def _run(self, number: int) -> RunRecord:
        if number not in self.runs:
            raise BadArchive(f"The archive has no run {number}.")
        return self.runs[number]

    def _in_order(self, columns: RunColumns) -> RunColumns:
        n, protocol = len(columns), self.protocol(self.index.track.protocol)
        rank = columns.rank if protocol.is_of_answers else np.broadcast_to(np.int32(0), n)
        is_collapsed = protocol.scoring.collapse_instances
        score = columns.score if is_collapsed else np.broadcast_to(np.float64(0), n)
        return replace(columns, rank=rank, score=score)

    def inputs(self, pool: PoolRecord) -> list[PoolInput]:
        """The runs of a pool with the ranks that it reads."""
        return [self._input(pool, self._run(pooled.run)) for pooled in pool.runs]

    def _input(self, pool: PoolRecord, run: RunRecord) -> PoolInput:
        columns, most = self._pooled.get(run.number), self._ranks_read(pool, run)
        if columns is None:
            columns = self.columns(run.number)
        cut = columns if most is None else columns.cut(most)
        return PoolInput(cut, run.team, run.tag, run.kind, run.pooled_as)

    def built(self, pool: PoolRecord) -> BuiltPool:
        """The pool, built again from its runs.

        Raises:
            BadArchive: It cannot be built.
        """
        protocol = self.protocol(pool.protocol)
        protocol = replace(protocol, pool=replace(protocol.pool, order=pool.order))
        earlier = self.chain(pool)[1:]
        with refusing(f"The pool “{pool.name}” cannot be built again", InputError):
            return build_pool(
                self.inputs(pool),
                protocol=protocol,
                seed=pool.seed,
                depth=pool.depth,
                formulas=self.formulas,
                known=self.known_items(protocol, pool.depth.get("rows")),
                already=self._by_topic(pool_before.file("pool.tsv") for pool_before in earlier),
                nuggets={code: [nugget.key for nugget in of] for code, of in self.nuggets_of(pool).items()},
                tied=self._by_topic(
                    (pool_before.file("members.tsv") for pool_before in earlier if pool_before.has_members), 2
                ),
                votes=votes_in(self.votes(pool)),
            )

    def votes(self, pool: PoolRecord) -> str:
        """The lines of the votes on pairs that decided what is in a pool."""
        return self.reader.read(pool.file("votes.tsv")).decode() if pool.has_votes else ""

    def chain(self, pool: PoolRecord) -> list[PoolRecord]:
        """A pool and those that it tops up, newest first."""
        pools = [pool]
        while (number := pools[-1].tops_up) is not None:
            if number not in self.pools or number >= pools[-1].number:
                raise BadArchive(f"The pool “{pools[-1].name}” tops up a pool that does not come before it.")
            pools.append(self.pools[number])
        return pools

    def known_items(self, protocol: Protocol, n_rows: int | None = None) -> ByTopic:
        """The units that no run names, by topic: of known-item protocols the relevant one; the rows of a table."""
        if protocol.pool.strategy == "rows":
            docnos: defaultdict[str, set[str]] = defaultdict(set)
            for row in self.table[:n_rows]:
                docnos[row.topic].add(row.docno)
            return docnos
        if protocol.pool.strategy != "known-item":
            return {}
        return {topic.code: {topic.known_item} for topic in self.topics if topic.known_item}

    def rows(self, name: str, n_columns: int) -> Iterator[list[str]]:
        for number, line in enumerate(self.reader.lines(name), 1):
            cells = line.split("\t")
            if len(cells) != n_columns:
                raise BadArchive(f"{name}, line {number}: expected {n_columns} columns, found {len(cells)}.")
            yield cells

    def part_rows(self, part: str, name: str, kind: type) -> Iterator[Any]:
        """The records of a file of an extension, a line each; none without the file."""
        if (path := part_file(part, name)) in self.reader.names:
            for number, line in enumerate(self.reader.lines(path), 1):
                yield parsed(kind, line, f"{path}, line {number}")

    def _by_topic(self, names: Iterator[str], column: int = 1) -> ByTopic:
        docnos: defaultdict[str, set[str]] = defaultdict(set)
        for name in names:
            for cells in self.rows(name, 3 if column == 1 else 6):
                docnos[cells[0]].add(cells[column])
        return docnos

    def form_of(self, qrels: QrelsRecord) -> QrelsForm:
        """The columns of a version's file."""
        is_frozen = qrels.source != "imported"
        return QrelsForm.for_version(self.protocol(qrels.protocol), qrels.report, is_frozen=is_frozen)

    def qrels_columns(self, qrels: QrelsRecord) -> QrelsColumns:
        with refusing(qrels.file, QrelsError):
            return parse_qrels(self.reader.read(qrels.file), form=self.form_of(qrels))

    def judged(self, board: LeaderboardRecord | PhaseRecord) -> JudgedDocuments:
        """The qrels of a leaderboard, or those of the topics of a phase, prepared for scoring."""
        if board.qrels not in self.qrels:
            raise BadArchive(f"{board.scores}: the index names no version of the qrels.")
        qrels = self.qrels[board.qrels]
        columns = self.qrels_columns(qrels)
        if isinstance(board, PhaseRecord):
            phases = self.protocol(board.protocol).runs.phases
            split = next((phase.split for phase in phases if phase.key == board.phase), "")
            if split:
                columns = columns.keep_topics([topic.code for topic in self.topics if topic.split == split])
        return self.judged_by(board, qrels)(columns)

    def judged_by(
        self, board: LeaderboardRecord | PhaseRecord, qrels: QrelsRecord
    ) -> Callable[[QrelsColumns], JudgedDocuments]:
        """Prepares rows of qrels: with the near-duplicates of judged documents if the protocol scores them."""
        if not self.protocol(board.protocol).scoring.duplicates_are_false_alarms:
            return JudgedDocuments
        pools = list(self.pools.values()) if qrels.pool is None else self.chain(self.pools[qrels.pool])
        tied = sorted(
            {
                (topic.encode(), member.encode(), unit.encode())
                for pool in pools
                if pool.has_members
                for topic, unit, member, *_ in self.rows(pool.file("members.tsv"), 6)
                if unit != member
            }
        )

        def judged(columns: QrelsColumns) -> JudgedDocuments:
            with refusing("The near-duplicates of the pools conflict", DuplicatesError):
                return JudgedDocuments(*with_duplicates(columns, tied))

        return judged

    def ranking(self, run: int, board: LeaderboardRecord | PhaseRecord) -> Ranked:
        """A run as the protocol scores it."""
        columns = self.columns(run)
        is_collapsed = self.protocol(board.protocol).scoring.collapse_instances
        if not is_collapsed or self.formulas is None:
            return columns
        return collapse_instances(columns, self.formulas)[0]

    def stored_scores(self, board: LeaderboardRecord | PhaseRecord) -> dict[tuple[int, str, str], float]:
        """The scores of a leaderboard or phase as they are in the archive, by run, topic and measure."""
        rows = self.rows(board.scores, 4)
        next(rows, None)
        with refusing(board.scores, ValueError):
            return {(int(run), topic, measure): float(value) for run, topic, measure, value in rows}

    def scored(
        self, board: LeaderboardRecord | PhaseRecord, judged: JudgedDocuments
    ) -> Iterator[tuple[int, Ranked, RunScores]]:
        """The runs of a leaderboard or phase by number, each with its scores, computed again."""
        with refusing(board.scores, MeasureError):
            measures = parse_measures(board.measures)
        for run in board.runs if isinstance(board, PhaseRecord) else board.evaluations:
            ranking = self.ranking(run.run, board)
            yield run.run, ranking, score_run(ranking, judged, measures)


def formula_lines(formulas: Formulas) -> Iterator[bytes]:
    """The lines of `formulas.tsv`, which `assay cluster` and `assay pool --formulas` read too."""
    yield ("\t".join(FORMULA_COLUMNS) + "\n").encode()
    columns: list[list[bytes]] = [formulas.formula.tolist(), formulas.post.tolist(), formulas.thread.tolist()]
    places = [PLACES[number].encode() for number in formulas.place.tolist()]
    for row in zip(*columns, places, formulas.visual.tolist(), strict=True):
        yield b"\t".join(row) + b"\n"
