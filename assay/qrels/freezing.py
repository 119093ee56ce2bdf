"""How judgments become qrels: which judgment of a unit counts, what is left out, and the report that says so.

No Django here: units and votes in, rows and a report out. Non-answers never become grades. Where several kinds of
batch have judged a unit, an adjudication stands before a main judgment, and that before what was asked for besides.
Within a kind, the assessor to whom the topic is assigned now stands before one from whom it was taken. A unit that
is judged by its members (a formula by its instances) has the grade that the rule makes of the members'.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from assay.formats.qrels.reader import Row
from assay.protocols.schema import QrelsRules

PRECEDENCE = ("adjudication", "main", "dual", "training")
ALWAYS = ("adjudication", "main")
NAMED = 100  # unjudged units that the report names; it counts them all


class Unit(NamedTuple):
    """A document of a topic."""

    topic: str
    docno: str

    def __str__(self) -> str:
        return f"{self.docno} of topic {self.topic}"


class Vote(NamedTuple):
    """A current judgment of a unit; `grade` is None for a non-answer."""

    kind: str
    is_assigned: bool
    assessor: str
    choice: str
    grade: int | None


class Member(NamedTuple):
    """What a judged document is a member of, and whether it is among those that assessors are shown."""

    unit: Unit
    is_shown: bool


NO_MEMBERS: Mapping[Unit, Member] = MappingProxyType({})


class Conflict(NamedTuple):
    """A unit whose judgments do not decide its grade."""

    unit: Unit
    reason: str

    def __str__(self) -> str:
        return f"{self.unit} ({self.reason})"


class Undecided(Exception):
    """Judgments that contradict one another: somebody has to adjudicate first."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} units are undecided")
        self.conflicts = conflicts


@dataclass(frozen=True, slots=True)
class Frozen:
    """Rows of qrels, and what was left out and why, ready for JSON."""

    rows: list[Row]
    report: dict[str, Any]


@dataclass(slots=True)
class _Tally:
    graded: dict[Unit, int] = field(default_factory=dict)
    non_answers: list[dict[str, str]] = field(default_factory=list)
    unjudged: list[Unit] = field(default_factory=list)
    partly: list[Unit] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    decided: Counter[str] = field(default_factory=Counter)


def freeze(
    units: Iterable[Unit],
    votes: Iterable[tuple[Unit, Vote]],
    *,
    rules: QrelsRules,
    judges: int,
    also: Sequence[str] = (),
    members: Mapping[Unit, Member] = NO_MEMBERS,
) -> Frozen:
    """Decide every unit and drop the topics that have too few relevant ones.

    `also` names kinds of batch that count besides main and adjudication: dual, training. `members` tells of documents
    which unit they belong to; a vote on one of them is a vote on that unit.

    Raises
    ------
    Undecided
        For some units, judgments of one standing name different choices.
    """
    counted: defaultdict[Unit, dict[str, list[Vote]]] = defaultdict(lambda: defaultdict(list))
    left_out: Counter[str] = Counter()
    for unit, vote in votes:
        if vote.kind in ALWAYS or vote.kind in also:
            of = members[unit].unit if unit in members else unit
            counted[of][unit.docno].append(vote)
        else:
            left_out[vote.kind] += 1
    shown: Counter[Unit] = Counter(member.unit for member in members.values() if member.is_shown)
    tally = _Tally()
    for unit in sorted(units, key=lambda one: (one.topic, one.docno)):
        by_member = counted.get(unit, {})
        _decide(unit, by_member, rules, judges, tally)
        if 0 < len(by_member) < shown[unit]:
            tally.partly.append(unit)
    if tally.conflicts:
        raise Undecided(tally.conflicts)
    return _without_poor_topics(tally, rules, dict(left_out))


def freeze_group(
    units: Iterable[Unit], votes: Iterable[tuple[Unit, Vote]], assessors: Collection[str]
) -> Frozen:
    """What some assessors alone have judged, each unit by one of them; nothing is dropped for having few relevant.

    Raises
    ------
    Undecided
        Several of them judged a unit, and differ.
    """
    theirs = [(unit, vote) for unit, vote in votes if vote.assessor in assessors]
    return freeze(units, theirs, rules=QrelsRules(), judges=1)


def known_items(units: Iterable[Unit], grade: int) -> Frozen:
    """Qrels where what is relevant was known before anybody judged: the units, all with one grade."""
    rows = sorted((unit.topic.encode(), unit.docno.encode(), grade) for unit in units)
    return Frozen(rows, {"known_items": len(rows)})


def _decide(
    unit: Unit, by_member: Mapping[str, list[Vote]], rules: QrelsRules, judges: int, tally: _Tally
) -> None:
    if rules.aggregate == "sum":
        votes = [vote for of_one in by_member.values() for vote in of_one]
        standing = _each_judge(unit, votes, judges, tally)
    else:
        standing = [
            vote
            for docno, votes in by_member.items()
            for vote in _standing(Unit(unit.topic, docno), votes, rules, tally)
        ]
    if not standing:
        tally.unjudged.append(unit)
        return
    grades = [vote.grade for vote in standing if vote.grade is not None]
    is_graded = len(grades) == len(standing) if rules.aggregate == "sum" else bool(grades)
    if not is_graded:
        choice = next(vote.choice for vote in standing if vote.grade is None)
        tally.non_answers.append({"topic": unit.topic, "docno": unit.docno, "choice": choice})
        return
    tally.graded[unit] = sum(grades) if rules.aggregate == "sum" else max(grades)
    tally.decided["by adjudication"] += any(vote.kind == "adjudication" for vote in standing)


def _standing(unit: Unit, votes: list[Vote], rules: QrelsRules, tally: _Tally) -> list[Vote]:
    """The votes on one document that count; none if they leave its grade open."""
    standing = _of_highest_standing(votes)
    if rules.aggregate == "single" and len({vote.choice for vote in standing}) > 1:
        said = ", ".join(f"{vote.assessor}: {vote.choice}" for vote in standing)
        tally.conflicts.append(Conflict(unit, said))
        return []
    of_kind = sum(vote.kind == standing[0].kind for vote in votes)
    tally.decided["by the assessor assigned now"] += len(standing) < of_kind
    return standing


def _of_highest_standing(votes: list[Vote]) -> list[Vote]:
    for kind in PRECEDENCE:
        of_kind = [vote for vote in votes if vote.kind == kind]
        if of_kind:
            return [vote for vote in of_kind if vote.is_assigned] or of_kind
    return []


def _each_judge(unit: Unit, votes: list[Vote], judges: int, tally: _Tally) -> list[Vote]:
    """The judgments that are summed, one of each judge; none while some are still to come."""
    if any(vote.kind == "adjudication" for vote in votes):
        tally.conflicts.append(Conflict(unit, f"adjudicated, but its grade is the sum of {judges} judgments"))
        return []
    standing = votes if len(votes) <= judges else [vote for vote in votes if vote.is_assigned]
    if len(standing) > judges:
        tally.conflicts.append(Conflict(unit, f"{len(standing)} judgments, but {judges} are summed"))
    return standing if len(standing) == judges else []


def _without_poor_topics(tally: _Tally, rules: QrelsRules, left_out: dict[str, int]) -> Frozen:
    unjudged = Counter(unit.topic for unit in tally.unjudged)
    non_answers = Counter(one["topic"] for one in tally.non_answers)
    judged = Counter(unit.topic for unit in tally.graded)
    relevant = Counter(unit.topic for unit, grade in tally.graded.items() if grade >= rules.relevant_from)
    topics = sorted({*judged, *unjudged, *non_answers})
    poor = [topic for topic in topics if not judged[topic] or relevant[topic] < rules.min_relevant]
    dropped = [{"topic": topic, "judged": judged[topic], "relevant": relevant[topic]} for topic in poor]
    is_poor = set(poor)
    rows = [
        (unit.topic.encode(), unit.docno.encode(), grade)
        for unit, grade in tally.graded.items()
        if unit.topic not in is_poor
    ]
    report = {
        "dropped": dropped,
        "min_relevant": rules.min_relevant,
        "relevant_from": rules.relevant_from,
        "non_answers": tally.non_answers,
        "unjudged": {
            "n": len(tally.unjudged),
            "topics": {topic: unjudged[topic] for topic in topics if unjudged[topic]},
            "first": [[unit.topic, unit.docno] for unit in tally.unjudged[:NAMED]],
        },
        "partly": len(tally.partly),
        "decided": {how: n for how, n in tally.decided.items() if n},
        "left_out": left_out,
    }
    return Frozen(rows, report)
