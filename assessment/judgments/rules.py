"""The judging rules of a protocol, and the check of a choice against them."""

from assay.protocols.schema import Grade, JudgingRules, NonAnswer
from assessment.judgments.errors import CommentNeeded, UnknownChoice
from tracks.models import StoredProtocol


def judging_rules(stored: StoredProtocol) -> JudgingRules:
    """The judging rules of a stored protocol."""
    return stored.parsed.judging


def has_members(rules: JudgingRules) -> bool:
    """Whether a unit is judged by its members, each with its own choice."""
    return rules.layout == "formula-instances"


def relevant_from(stored: StoredProtocol) -> int:
    """The lowest grade that a stored protocol counts as relevant."""
    return stored.parsed.qrels.relevant_from


def binary_from(stored: StoredProtocol) -> int:
    """The grade from which a stored protocol counts a unit as relevant when agreement has two classes."""
    return stored.parsed.agreement.binary_from


def check_choice(rules: JudgingRules, *, choice: str, comment: str) -> Grade | NonAnswer:
    """The grade or non-answer with a key.

    Raises
    ------
    UnknownChoice
        The protocol has no such choice; the message lists its choices.
    CommentNeeded
        The choice needs a comment, and there is none.
    """
    known = rules.choice(choice)
    if known is None:
        raise UnknownChoice(choice, rules.choices)
    if needs_comment(known) and not comment.strip():
        raise CommentNeeded(known)
    return known


def needs_comment(choice: Grade | NonAnswer) -> bool:
    return isinstance(choice, NonAnswer) and choice.needs_comment


def label_of(rules: JudgingRules, key: str) -> str:
    """The label of a choice; the key itself if the protocol has no such choice."""
    choice = rules.choice(key)
    return choice.label if choice else key
