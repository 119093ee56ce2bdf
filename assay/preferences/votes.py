"""Files of preferences: one line per vote of an assessor on two documents of a topic.

The lines are those of `prefj` (Clarke, github.com/claclark/preferences): topic, the document on the left, the document
on the right, and the preferred one. Instead of it, `tie` says that both are equally good, and `bad` that both are
useless. A fifth column names the assessor; without it, the votes on a pair are those of assessors 1, 2 and so on.
trec_eval and Greedy PGC read files of their own.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from assay.errors import InputError, plural
from assay.formats.text import lines_of, read_text
from assay.protocols.units import documents_of
from assay.tables import natural

TIE, BAD = "tie", "bad"
MOST_ERRORS = 10
WINNERS = {
    **dict.fromkeys(("first", "first-much"), "{first}"),
    **dict.fromkeys(("second", "second-much"), "{second}"),
    "tie": TIE,
    "bad": BAD,
}
SOMEBODY = "1"  # the first assessor of a pair in a file that names none


class Vote(NamedTuple):
    """A vote. `winner` is one of the documents, `TIE` or `BAD`."""

    topic: str
    left: str
    right: str
    winner: str
    assessor: str = SOMEBODY

    @property
    def pair(self) -> tuple[str, str]:
        """The documents, without their sides."""
        return (self.left, self.right) if self.left < self.right else (self.right, self.left)

    @property
    def loser(self) -> str:
        """The document that was not preferred; empty if none was."""
        return {self.left: self.right, self.right: self.left}.get(self.winner, "")


def vote_of(topic: str, docno: str, choice: str, assessor: str, left: str = "") -> Vote | None:
    """The vote that a judgment of a pair is; None for other choices, such as a non-answer.

    Args:
        choice: the key of one of `assay.protocols.schema.PREFERENCES`; much better counts as better.
        left: the document on the left; empty: the first one.
    """
    pair = documents_of(docno)
    if pair is None or choice not in WINNERS:
        return None
    first, second = pair
    sides = (second, first) if left == second else pair
    return Vote(topic, *sides, WINNERS[choice].format(first=first, second=second), assessor)


def read_votes(path: str) -> list[Vote]:
    """The votes of a file; `-` is standard input.

    Raises:
        InputError: The file cannot be read, or lines are wrong; the message has the first of them.
    """
    return parse_votes(read_text(path), path)


def parse_votes(text: str, name: str) -> list[Vote]:
    """As `read_votes`, for the text of a file with a name."""
    votes: list[Vote] = []
    errors: list[str] = []
    seen: dict[Vote, int] = {}
    n_votes: Counter[tuple[str, tuple[str, str]]] = Counter()
    for number, line in enumerate(lines_of(text), 1):
        words = line.split()
        if not words or line.startswith("#"):
            continue
        problem = _problem(words)
        if not problem:
            vote = Vote(*words)
            if len(words) == 4:  # nobody is named: the votes of a pair are of different people
                n_votes[vote.topic, vote.pair] += 1
                vote = vote._replace(assessor=str(n_votes[vote.topic, vote.pair]))
            first = seen.setdefault(vote._replace(winner=""), number)
            if first == number:
                votes.append(vote)
                continue
            problem = f"{vote.assessor} voted on {vote.left} and {vote.right} in line {first} already"
        errors.append(f"{name}, line {number}: {problem}")
    if errors or not votes:
        more = [f"and {len(errors) - MOST_ERRORS:,} more"] if len(errors) > MOST_ERRORS else []
        raise InputError("\n".join([*errors[:MOST_ERRORS], *more]) or f"{name}: it has no votes")
    return votes


def _problem(words: Sequence[str]) -> str:
    """The reason why the words of a line are no vote; empty if they are one."""
    if len(words) not in {4, 5}:
        got = plural(len(words), "column")
        return f"expected topic, left, right, preferred document and perhaps assessor, got {got}"
    _, left, right, winner = words[:4]
    if left == right:
        return f"{left} is on both sides"
    if {left, right} & {TIE, BAD}:
        return f"{TIE} and {BAD} cannot be names of documents"
    if winner not in {left, right, TIE, BAD}:
        return f"{winner} is not preferred to anything: use {left}, {right}, {TIE} or {BAD}"
    return ""


def by_topic(votes: Iterable[Vote]) -> dict[str, list[Vote]]:
    """The votes of each topic, in natural order of topics."""
    topics: defaultdict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        topics[vote.topic].append(vote)
    return dict(sorted(topics.items(), key=lambda item: (natural(item[0]), item[0])))


def as_lines(votes: Iterable[Vote]) -> Iterator[str]:
    """Yield lines as `parse_votes` reads them, those of `prefj` with the assessor behind."""
    return ("\t".join(vote) + "\n" for of_topic in by_topic(votes).values() for vote in of_topic)


def as_trec_eval(votes: Iterable[Vote]) -> Iterator[str]:
    """Yield lines for `trec_eval -R prefs`: topic, group, part of the group, docno, level.

    A group is an assessor, a part is a vote: 2 for the preferred document and 1 for the other, 1 for both if they are
    equally good, 0 for both if they are useless. trec_eval refuses a document that is useless in one part of a group
    and not in another; then each vote is a group of its own.
    """
    for topic, of_topic in by_topic(votes).items():
        numbers: Counter[str] = Counter()
        clashes = _contradicts(of_topic)
        for place, vote in enumerate(of_topic, 1):
            numbers[vote.assessor] += 1
            group = f"{vote.assessor}-{place}" if vote.assessor in clashes else vote.assessor
            for docno, level in _levels(vote).items():
                yield f"{topic}\t{group}\t{numbers[vote.assessor]}\t{docno}\t{level}\n"


def _levels(vote: Vote) -> dict[str, int]:
    level = {TIE: 1, BAD: 0}.get(vote.winner)
    return {
        docno: (1 + (docno == vote.winner) if level is None else level) for docno in (vote.left, vote.right)
    }


def _contradicts(votes: Iterable[Vote]) -> set[str]:
    """The assessors whose votes on a topic trec_eval cannot read as one group."""
    levels: defaultdict[str, defaultdict[str, set[bool]]] = defaultdict(lambda: defaultdict(set))
    beaten: defaultdict[str, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for vote in votes:
        for docno, level in _levels(vote).items():
            levels[vote.assessor][docno].add(level > 0)
        if vote.loser:
            beaten[vote.assessor][vote.winner].add(vote.loser)
    clashes = {
        name for name, of_docno in levels.items() if any(len(kinds) > 1 for kinds in of_docno.values())
    }
    for name, of_docno in beaten.items():
        try:
            TopologicalSorter(of_docno).prepare()
        except CycleError:  # a document is preferred, over others, to itself
            clashes.add(name)
    return clashes


def as_graph(votes: Iterable[Vote]) -> Iterator[str]:
    """Yield lines for Greedy PGC: topic, winner, loser. It has no ties."""
    for topic, of_topic in by_topic(votes).items():
        for vote in of_topic:
            if vote.loser:
                yield f"{topic}\t{vote.winner}\t{vote.loser}\n"
