"""How judgments become qrels: which judgment of a unit counts, what is left out, and the report that says so.

No Django here: units and votes in, rows and a report out. Non-answers never become grades. Where several kinds of
batch have judged a unit, an adjudication stands before a main judgment, and that before what was asked for besides.
Within a kind, the assessor to whom the topic is assigned now stands before one from whom it was taken.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from protocols.schema import QrelsRules
from scoring.qrels_format import Row

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
    conflicts: list[Conflict] = field(default_factory=list)
    decided: Counter[str] = field(default_factory=Counter)


def freeze(
    units: Iterable[Unit],
    votes: Iterable[tuple[Unit, Vote]],
    *,
    rules: QrelsRules,
    judges: int,
    also: Sequence[str] = (),
) -> Frozen:
    """Decide every unit and drop the topics that have too few relevant ones.

    `also` names kinds of batch that count besides main and adjudication: dual, training.

    Raises
    ------
    Undecided
        For some units, judgments of one standing name different choices.
    """
    counted: defaultdict[Unit, list[Vote]] = defaultdict(list)
    left_out: Counter[str] = Counter()
    for unit, vote in votes:
        if vote.kind in ALWAYS or vote.kind in also:
            counted[unit].append(vote)
        else:
            left_out[vote.kind] += 1
    tally = _Tally()
    for unit in sorted(units, key=lambda one: (one.topic, one.docno)):
        _decide(unit, counted.get(unit, []), rules, judges, tally)
    if tally.conflicts:
        raise Undecided(tally.conflicts)
    return _without_poor_topics(tally, rules, dict(left_out))


def _decide(unit: Unit, votes: list[Vote], rules: QrelsRules, judges: int, tally: _Tally) -> None:
    standing = (
        _of_highest_standing(votes) if rules.aggregate != "sum" else _each_judge(unit, votes, judges, tally)
    )
    if not standing:
        tally.unjudged.append(unit)
        return
    if rules.aggregate == "single" and len({vote.choice for vote in standing}) > 1:
        said = ", ".join(f"{vote.assessor}: {vote.choice}" for vote in standing)
        tally.conflicts.append(Conflict(unit, said))
        return
    grades = [vote.grade for vote in standing if vote.grade is not None]
    is_graded = len(grades) == len(standing) if rules.aggregate == "sum" else bool(grades)
    if not is_graded:
        choice = next(vote.choice for vote in standing if vote.grade is None)
        tally.non_answers.append({"topic": unit.topic, "docno": unit.docno, "choice": choice})
        return
    tally.graded[unit] = sum(grades) if rules.aggregate == "sum" else max(grades)
    tally.decided["by adjudication"] += standing[0].kind == "adjudication"
    tally.decided["by the assessor assigned now"] += len(standing) < sum(
        v.kind == standing[0].kind for v in votes
    )


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
        "decided": {how: n for how, n in tally.decided.items() if n},
        "left_out": left_out,
    }
    return Frozen(rows, report)
