"""The rules of a protocol in which pairs of documents are judged: see `rules`."""

from collections.abc import Iterator
from dataclasses import replace

from assay.errors import say
from assay.protocols.schema import JudgingRules, PairRules, PreferenceRules, Protocol, QrelsRules, QrelsSet

MIRRORED = {"first-much": "second-much", "first": "second", "second": "first", "second-much": "first-much"}
# What the choices are called on the page, by their place from left to right.
WORDS = {
    "first-much": (
        say("Left much better"),
        say("The one on the left is much better than the other."),
    ),
    "first": (say("Left better"), say("The one on the left is better than the other.")),
    "second": (say("Right better"), say("The one on the right is better than the other.")),
    "second-much": (
        say("Right much better"),
        say("The one on the right is much better than the other."),
    ),
}
TOURNAMENT = {
    "k": 5,
    "partners": 7,
    "few": 9,
}  # the usual figures: those of `prefj`, where they are k, p and f


def figures_of(pairs: PairRules) -> dict[str, int]:
    """The figures of a tournament: those of a protocol, or the usual ones."""
    given = {name: getattr(pairs, name) for name in TOURNAMENT}
    return {name: usual if given[name] is None else given[name] for name, usual in TOURNAMENT.items()}


def pair_complaints(protocol: Protocol) -> Iterator[str]:
    """Yield each error of the keys of pairs, and each use of them where documents are judged."""
    judging, pairs = protocol.judging, protocol.pool.pairs
    if not judging.judged.has_votes:
        # Complaints about keys of pairs in a protocol whose units are documents
        given = {
            "pool.pairs": protocol.pool.pairs,
            "judging.preference": protocol.judging.preference,
            "qrels.preferences": protocol.qrels.preferences,
        }
        given |= {
            f"qrels.set[{n}].preferences": qrels_set.preferences
            for n, qrels_set in enumerate(protocol.qrels.sets, 1)
        }
        for key, value in given.items():
            if value is not None:
                yield f"{key}: has no effect, because no pairs are judged; use judging.layout = 'pair', or leave it out"
        return
    yield from _drawing_complaints(protocol)
    if protocol.pool.order == "move-to-front":
        yield "pool.order: move-to-front follows relevant units; a pair has no relevance; use random"
    rules = judging.preference or PreferenceRules()
    if judging.given_grades:
        yield "judging.grade: has no effect on the layout pair; describe the choices in [judging.preference]"
    if rules.strength not in {1, 2}:
        yield f"judging.preference.strength: {rules.strength} is neither 1, better, nor 2, better or much better"
    if not rules.question.strip():
        yield "judging.preference.question: empty; write the question about the two documents"
    selection = "battles" if judging.judged.is_blind else None if pairs is None else pairs.selection
    yield from _qrels_complaints("qrels", protocol.qrels, selection)
    for n, of_set in enumerate(protocol.qrels.sets, 1):
        yield from _qrels_complaints(f"qrels.set[{n}]", of_set, selection)


def _drawing_complaints(protocol: Protocol) -> Iterator[str]:
    """Complaints about the choice of pairs."""
    pairs = protocol.pool.pairs
    if protocol.judged.is_blind:
        if pairs is not None:
            yield "pool.pairs: has no effect on battles, which the pool strategy draws; leave it out"
    elif pairs is None:
        yield "pool.pairs: missing; the layout pair needs the table [pool.pairs], such as selection = 'all'"
    elif protocol.unit not in protocol.judged.kinds or protocol.cites_posts:
        yield f"judging.layout: 'pair' shows two documents, but unit is {protocol.unit!r}; use document"
    elif protocol.pool.strategy == "known-item" or protocol.pool.near_duplicate_overlap is not None:
        yield "pool.pairs: a pool of known items or of near-duplicates has no pairs; use the strategy top-k"
    else:
        yield from _selection_complaints(pairs)


def _selection_complaints(pairs: PairRules) -> Iterator[str]:
    given = [name for name in TOURNAMENT if getattr(pairs, name) is not None]
    if pairs.selection != "tournament":
        for name in given:
            yield f"pool.pairs.{name}: has no effect on {pairs.selection!r}; it is a figure of a tournament"
        return
    figures = figures_of(pairs)
    if not 0 < figures["k"] < figures["partners"] < figures["few"]:
        yield (
            f"pool.pairs: k, {figures['k']}, must be above 0 and below partners, {figures['partners']}, which must be "
            f"below few, {figures['few']}"
        )


def _qrels_complaints(place: str, rules: QrelsRules | QrelsSet, selection: str | None) -> Iterator[str]:
    """Complaints about the way from preferences to qrels, of the protocol or of a set."""
    if rules.preferences is None:
        yield f"{place}.preferences: missing; say how preferences become grades, such as 'copeland'"
    needed = {"copeland": "all", "tournament": "tournament"}.get(rules.preferences or "", selection)
    if selection is not None and needed != selection:
        accepted = "" if selection == "battles" else f"pool.pairs.selection = '{needed}', or use "
        accepted += "'bradley-terry' or 'votes'"
        yield f"{place}.preferences: {rules.preferences!r} needs {accepted}"
    if rules.aggregate != "single":
        yield f"{place}.aggregate: has no effect on preferences, which all count; leave it out"
    for key in ("question", "grades", "rules", "only", "otherwise", "topic_citations", "export_groups"):
        if getattr(rules, key, None) not in (None, "", (), {}, False):
            yield f"{place}.{'rule' if key == 'rules' else key}: has no effect on preferences; leave it out"


def on_sides(rules: JudgingRules, left: str, right: str) -> JudgingRules:
    """The rules of a pair with choices about left and right instead of first and second, from left to right.

    The keys stay those of the first and the second document, in the order of their docnos.
    """
    of_key = {grade.key: grade for grade in rules.grades}
    grades = []
    for grade in rules.grades:
        meant = of_key[MIRRORED.get(grade.key, grade.key)] if left > right else grade
        label, definition = WORDS.get(grade.key, (grade.label, grade.definition))
        grades.append(replace(meant, label=label, definition=definition, shortcut=grade.shortcut))
    return replace(rules, given_grades=tuple(grades))
