"""The content of an archive, as the records of its index, `archive.json`::

    README.md, CITATION.bib   what the archive is, for people
    metadata.json             the same for machines: schema.org/Dataset with the fields of Croissant
    datacite.json             the same for the registration of a DOI: the fields of DataCite
    SHA256SUMS                the digest of every other file
    archive.json              the index: the records of this module
    protocols/SLUG.toml       the protocols
    topics.jsonl              the topics
    rows.jsonl                the rows of a table, if they are what is judged
    guidelines/N.md           the published versions of the guidelines
    runs/N.EXT                the runs, byte by byte as they were submitted
    interaction/N.EXT         the data of the sessions of each team, as they were uploaded
    formulas.tsv              if the runs contain formulas: post, thread and visual id of each
    nuggets.jsonl             if answers are judged by nuggets: the frozen versions of the lists
    pools/N/…                 each pool, with which run contributed what
    judgments.jsonl           all judgments, also those that were replaced
    qrels/N.tsv               the versions of the qrels
    phases/KEY.tsv            the scores of the runs of a phase that has a board
    leaderboards/N/…          the scores of each run and topic, with the statistics, and the analyses
    extensions/NAME/…         the files of an extension, if the archive is made with them

Times are in ISO 8601. Runs, pools and leaderboards are numbered from 1.
"""

import json
import re
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.archive.files import BadArchive, refusing
from assay.formats.declaration import RunFacts
from assay.protocols.schema import Average, JudgingOrder
from assay.structure import WrongStructure, structured

FORMAT = 1
MAX_JSON = 1 << 26  # bytes of a record; as values, they take up to twenty times as many
NUMBERS = re.compile(r'\[\n[^\[\]{}"]*\]')  # a list of nothing else, with a number in each line
INDEX = "archive.json"
README, CITATION, METADATA, DATACITE = "README.md", "CITATION.bib", "metadata.json", "datacite.json"
TOPICS, FORMULAS, JUDGMENTS, ROWS = "topics.jsonl", "formulas.tsv", "judgments.jsonl", "rows.jsonl"
NUGGETS = "nuggets.jsonl"


@dataclass(frozen=True)
class RowRecord:
    """A line of `rows.jsonl`; the fields are texts."""

    topic: str
    docno: str
    fields: dict[str, str]


@dataclass(frozen=True)
class TrackRecord:
    """`protocol` is the slug of its protocol; `reminder_days` before a closing time, teams are reminded of it.

    A site that loads the archive hides the names of teams and runs until `names_hidden_until`.
    """

    slug: str
    name: str
    description: str
    protocol: str
    created_at: str
    collection: str = ""
    reminder_days: int | None = None
    names_hidden_until: str = ""


@dataclass(frozen=True)
class ProtocolRecord:
    """`sha256` is the digest that pools, qrels and leaderboards record."""

    slug: str
    sha256: str
    file: str


@dataclass(frozen=True)
class GuidelinesRecord:
    """A published version of the guidelines."""

    number: int
    summary: str
    published_at: str
    file: str


@dataclass(frozen=True)
class MachineRecord:
    """A program or a model that judges."""

    name: str
    version: str
    description: str = ""
    family: str = ""


@dataclass(frozen=True)
class AssessorRecord:
    """An assessor under the name that the judgments use. `ended_at` is when they left the track.

    `is_by_link` is true for somebody who judged by a link, without an account.
    """

    name: str
    group: str = ""
    ended_at: str = ""
    machine: MachineRecord | None = None
    is_by_link: bool = False


@dataclass(frozen=True)
class BatchRecord:
    """A main batch that is open to join, or with people per unit of its own. `pool` is the name of its pool."""

    pool: str
    name: str
    judges: int | None = None
    is_shared: bool = False


@dataclass(frozen=True)
class RunRecord(RunFacts):
    """A run. `report` is that of its check at submission; `reason` says why it was disqualified or withdrawn."""

    number: int
    file: str
    report: dict[str, Any]
    reason: str = ""


@dataclass(frozen=True)
class SessionRecord:
    """A topic that a team nominated for the interaction, and the seconds of its session; none without a session.

    `assessor` held it from `started_at` on; both are empty if the seconds are from the log of the team.
    """

    team: str
    topic: str
    place: int
    seconds: float | None = None
    assessor: str = ""
    started_at: str = ""


@dataclass(frozen=True)
class TeamFile:
    """A file of a team: `file` is its name in the archive, `file_name` that of the team."""

    team: str
    file: str
    file_name: str
    sha256: str


@dataclass(frozen=True)
class SessionDataRecord(TeamFile):
    """The data that a team uploaded after its sessions."""

    uploaded_at: str


@dataclass(frozen=True)
class DocumentRecord:
    """A public document of a team: a PDF. `word` is that of a document of the protocol, or empty."""

    team: str
    word: str
    title: str
    file: str
    name: str
    sha256: str


@dataclass(frozen=True)
class PooledRun:
    """A run of a pool, by its number, and the depth to which it was pooled."""

    run: int
    depth: int


@dataclass(frozen=True)
class PoolRecord:
    """A pool. `runs` are in the order of the building; `tops_up` is the number of the earlier pool.

    `left_out` are the runs beyond the limit per team. `has_votes`: votes on pairs of earlier pools decided which are in
    this one. `nuggets` has the version of the nuggets of each topic.
    """

    number: int
    name: str
    protocol: str
    seed: int
    depth: dict[str, Any]
    order: JudgingOrder
    tops_up: int | None
    sha256: str
    runs: list[PooledRun]
    created_at: str
    has_members: bool = False
    has_votes: bool = False
    max_runs_per_team: int | None = None
    left_out: list[int] = field(default_factory=list)
    nuggets: dict[str, int] = field(default_factory=dict)

    def file(self, name: str) -> str:
        return f"pools/{self.number}/{name}"


@dataclass(frozen=True)
class QrelsRecord:
    """A version of the qrels. `source` is `frozen` or `imported`; `pool` is the number of the pool.

    `machine` is the assessor who judged, if that was a machine, and `machine_name` its name and version. `columns` are
    those of its file. `corrects` is the earlier version that it supersedes, with the reason.
    """

    version: int
    name: str
    source: str
    pool: int | None
    protocol: str
    sha256: str
    n_topics: int
    n_judged: int
    report: dict[str, Any]
    created_at: str
    columns: str = "topic, 0, docno, grade"
    machine: str = ""
    machine_name: str = ""
    is_archived: bool = False
    corrects: int | None = None
    supersedes_reason: str = ""

    @property
    def file(self) -> str:
        return f"qrels/{self.version}.tsv"


@dataclass(frozen=True)
class EvaluationRecord:
    """A run on a leaderboard."""

    run: int
    n_topics: int
    n_missing: int
    judged_at_10: float | None
    unjudged: float | None
    curves: dict[str, Any]
    first_grades: dict[str, int] = field(default_factory=dict)  # empty in archives of earlier versions
    first_hits: dict[str, Any] = field(default_factory=dict)  # likewise


@dataclass(frozen=True)
class UnassignedRun:
    """A run that was not scored, because so many nuggets and citations of its answers have no grade."""

    run: int
    units: int


@dataclass(frozen=True)
class LeaderboardRecord:
    """A leaderboard against a version of the qrels. Evaluations are in the order of the arrays of its statistics.

    `disqualified` are the runs that were not scored because they were disqualified before. `analyses` are files.
    """

    number: int
    qrels: int
    protocol: str
    measures: list[str]
    average: Average
    seed: int
    evaluations: list[EvaluationRecord]
    statistics: dict[str, Any]
    created_at: str
    disqualified: list[int] = field(default_factory=list)
    unassigned: list[UnassignedRun] = field(default_factory=list)
    analyses: list[str] = field(default_factory=list)

    @property
    def scores(self) -> str:
        return self.file("scores.tsv")

    def file(self, name: str) -> str:
        return f"leaderboards/{self.number}/{name}"


@dataclass(frozen=True)
class PhaseRunRecord:
    """A run on the board of a phase."""

    run: int
    n_topics: int
    n_missing: int
    scored_at: str


@dataclass(frozen=True)
class PhaseRecord:
    """The board of a phase, against a version of the qrels; its file has the values as `scores.tsv` has them."""

    phase: str
    qrels: int
    protocol: str
    measures: list[str]
    average: Average
    runs: list[PhaseRunRecord]

    @property
    def scores(self) -> str:
        return f"phases/{self.phase}.tsv"


@dataclass(frozen=True)
class AnalysisRecord:
    """An analysis of a leaderboard: its file has the result with which its tables are shown, and the seed for another.

    In the result, `run` is the number of a run, `evaluation` the place of a run on the leaderboard, and `id` the
    version of qrels. `qrels` are the other versions that it compares.
    """

    kind: str
    seed: int
    created_at: str
    result: dict[str, Any]
    qrels: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Index:
    """The content of `archive.json`.

    `has_names` says whether assessors have their names, or code names; `has_comments` whether judgments have comments.
    `organizations` are those of the teams that named one, by team; `documents` those that they owed, by word.
    """

    format: int
    assay: str
    created_at: str
    track: TrackRecord
    has_names: bool
    has_comments: bool
    protocols: list[ProtocolRecord]
    guidelines: list[GuidelinesRecord]
    teams: list[str]
    assessors: list[AssessorRecord]
    runs: list[RunRecord]
    pools: list[PoolRecord]
    qrels: list[QrelsRecord]
    leaderboards: list[LeaderboardRecord]
    n_topics: int
    n_judgments: int
    sessions: list[SessionRecord] = field(default_factory=list)
    session_data: list[SessionDataRecord] = field(default_factory=list)
    team_documents: list[DocumentRecord] = field(default_factory=list)
    organizations: dict[str, Any] = field(default_factory=dict)
    documents: dict[str, Any] = field(default_factory=dict)
    n_nugget_lists: int = 0
    batches: list[BatchRecord] = field(default_factory=list)
    phases: list[PhaseRecord] = field(default_factory=list)
    authors: list[str] = field(default_factory=list)
    license: str = ""
    url: str = ""
    doi: str = ""


def as_json(record: Any) -> str:
    """A record as text, the same for the same record. A leaderboard of 1,000 runs has millions of numbers in lists."""
    text = json.dumps(asdict(record), ensure_ascii=False, indent=1)
    return NUMBERS.sub(lambda numbers: "".join(numbers[0].split()), text) + "\n"


def as_line(record: Any) -> str:
    return json.dumps(asdict(record), ensure_ascii=False) + "\n"


def parsed(kind: type, text: str | bytes, where: str) -> Any:
    """The record in a text of JSON.

    Raises:
        BadArchive: It is not JSON, or not of the form of the record: the message names the keys.
    """
    with refusing(f"{where}: not JSON", ValueError, RecursionError):
        values = json.loads(text)
    try:
        return structured(kind, values)
    except WrongStructure as error:
        raise BadArchive(f"{where}: {'; '.join(error.problems[:5])}.") from None
