"""Judges and replies of models in archives of tracks, and their check: the replies are read again without a model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assay.archive.contents import Contents
from assay.archive.parts import part_file
from assay.archive.records import JUDGMENTS
from assay.archive.verify import Finding, few
from assay.errors import plural
from assay.formats.judgments.reader import open_judgments
from assay.formats.judgments.rows import JudgmentRow
from assay.protocols.questions import choices_of
from assay_extensions.machines.judge_files.prompts import UnreadableReply
from assay_extensions.machines.model.asking import has_parser, replayed
from assay_extensions.machines.model.evidence import Evidence

NAME = "machines"  # of the part
JUDGES, REPLIES, PROBES, CARDS = "judges.jsonl", "replies.jsonl", "probes.jsonl", "cards.jsonl"


@dataclass(frozen=True)
class JudgeRow:
    """The judge of a machine, whose name is that of its judgments."""

    assessor: str
    record: dict[str, Any]
    template_text: str = ""


@dataclass(frozen=True)
class ProbeCounts:
    """The answers to units under one probe."""

    probe: str
    title: str
    n: int
    higher: int
    lower: int
    unanswered: int
    is_weakness: bool


@dataclass(frozen=True)
class ProbesReport:
    """The report of `assay probe`, without the units."""

    protocol: str
    n_units: int
    probes: list[ProbeCounts]


@dataclass(frozen=True)
class ProbesRow:
    """The probes of a machine."""

    assessor: str
    report: ProbesReport
    created_at: str


@dataclass(frozen=True)
class ReplyRow:
    """Evidence about a unit. `judgment` is the number of the first judgment that came of it; None for a skip."""

    assessor: str
    pool: str
    topic: str
    docno: str
    judgment: int | None
    created_at: str
    evidence: Evidence


def judges_in(contents: Contents) -> Iterator[JudgeRow]:
    return contents.part_rows(NAME, JUDGES, JudgeRow)


def replies_in(contents: Contents) -> Iterator[ReplyRow]:
    return contents.part_rows(NAME, REPLIES, ReplyRow)


def probes_in(contents: Contents) -> Iterator[ProbesRow]:
    return contents.part_rows(NAME, PROBES, ProbesRow)


def verify(contents: Contents) -> Iterator[Finding]:
    """Read each stored reply again, and compare the grades with those of the judgments."""
    machines = {assessor.name for assessor in contents.index.assessors if assessor.machine}
    if part_file(NAME, REPLIES) not in contents.reader.names:
        if machines:
            yield Finding("replies of machines", "not read again: the archive has none")
        return
    problems = [
        f"{part_file(NAME, JUDGES)}: no machine {row.assessor[:80]}"
        for row in judges_in(contents)
        if row.assessor not in machines
    ]
    units, n_read, n_skips, n_others = _judgments_of(contents, machines), 0, 0, 0
    for line, row in enumerate(replies_in(contents), 1):
        place = f"{part_file(NAME, REPLIES)}, line {line}: {row.topic[:80]} {row.docno[:80]}"
        judgments = units.get((row.assessor, row.pool, row.topic, row.docno), ())
        if row.assessor not in machines:
            problems.append(f"{place}: no machine {row.assessor[:80]}")
        elif row.judgment is not None and row.judgment not in {judged.number for judged in judgments}:
            problems.append(f"{place}: no judgment {row.judgment} of this unit")
        elif not has_parser(row.evidence):
            n_others += 1
        else:
            n_read, n_skips = n_read + (row.judgment is not None), n_skips + (row.judgment is None)
            problems += [f"{place}: {problem}" for problem in _differences(contents, row, judgments)]
    n_replies = plural(n_read, "reply,replies")
    content = f"{n_replies} of judgments and {n_skips:,} of skips, read again without a model"
    content += f"; {n_others:,} whose parser Assay does not have" if n_others else ""
    yield Finding("replies of machines", content, few(problems))


def _judgments_of(
    contents: Contents, machines: set[str]
) -> Mapping[tuple[str, str, str, str], Sequence[JudgmentRow]]:
    """The judgments of machines by assessor, pool, topic and unit, in their order."""
    units: dict[tuple[str, str, str, str], list[JudgmentRow]] = {}
    with contents.reader.opened(JUDGMENTS) as file:
        for row in open_judgments(file, JUDGMENTS).rows if file.seek(0, 2) else ():
            if row.assessor in machines:
                units.setdefault((row.assessor, row.pool, row.topic, row.unit or row.docno), []).append(row)
    return units


def _differences(contents: Contents, row: ReplyRow, judgments: Sequence[JudgmentRow]) -> Iterator[str]:
    pool = next((pool for pool in contents.index.pools if pool.name == row.pool), None)
    slug = contents.index.track.protocol if pool is None else pool.protocol
    grades = choices_of(contents.protocol(slug).judging, (), row.docno)["grades"]
    values = {grade["key"]: grade["grade"] for grade in grades}
    try:
        choices = replayed(row.evidence, grades)
    except UnreadableReply as error:
        if row.judgment is not None:
            yield f"its reply cannot be read: {error}"
        return
    if row.judgment is None:
        if row.evidence.parse_status == "unreadable":
            yield f"its reply says {', '.join(choices.values())}, and was unreadable"
        return
    of_reply = [judged for judged in judgments if (judged.number or 0) >= row.judgment]
    for docno, choice in choices.items():
        judged = next((judged for judged in of_reply if judged.docno == (docno or judged.docno)), None)
        if judged is None:
            yield f"its reply says {choice} for {docno[:80]}, which has no judgment"
        elif (choice, values.get(choice)) != (judged.choice, judged.grade):
            yield f"its reply says {choice}, and the judgment {judged.choice[:80]} (grade {judged.grade})"
