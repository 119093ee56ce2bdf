"""The single keys of the judging page: a user's own, and the usual ones for what they have not changed.

An own key is stored by the name of what it does: an action, or the position of a choice ("grade-1" is the first grade,
"other-1" the first choice without a grade), so that it is the same for every protocol. No key does two things: a
choice has its key before an action, and an own key comes before a usual one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.utils.translation import gettext_noop

from accounts.models import User
from assay.protocols.schema import Grade, JudgingRules, NonAnswer
from assessment.batches.selectors import batches_of
from assessment.models import Batch


class Action(NamedTuple):
    """An action of a key, besides choosing. `key` is the usual key."""

    name: str
    label: str
    key: str


ACTIONS = (
    Action("skip", gettext_noop("Skip the task"), "s"),
    Action("undo", gettext_noop("Undo the last judgment"), "z"),
    Action("comment", gettext_noop("Write a comment"), "c"),
    Action("guidelines", gettext_noop("Open the guidelines"), "g"),
    Action("highlight", gettext_noop("Highlight the words of the topic"), "h"),
    Action("posts", gettext_noop("Open or close all posts of a formula"), "p"),
    Action("next", gettext_noop("Take the next task"), "n"),
    Action("help", gettext_noop("Show the choices and the keys"), "?"),
)
NEXT = "next"  # works on a page without choices
OF_BROWSERS = ("/", "'")  # Firefox searches the page with them


@dataclass(frozen=True)
class Keys:
    """The keys of a page; "" for what has none. `choices` has the key of each choice, `of_questions` those that the
    protocol gives to the choices of questions, by question and choice; the page finds keys for the others."""

    choices: Mapping[str, str] = field(default_factory=dict)
    of_questions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    skip: str = ""
    undo: str = ""
    comment: str = ""
    guidelines: str = ""
    highlight: str = ""
    posts: str = ""
    next: str = ""
    help: str = ""

    @property
    def actions(self) -> list[Action]:
        """The actions of the judging page that have a key, with that key."""
        actions = [
            action._replace(key=getattr(self, action.name)) for action in ACTIONS if action.name != NEXT
        ]
        return [action for action in actions if action.key]


def positions(rules: JudgingRules) -> dict[str, Grade | NonAnswer]:
    """The choices of a protocol by the name of their position."""
    grades = {f"grade-{n}": choice for n, choice in enumerate(rules.grades, 1)}
    return grades | {f"other-{n}": choice for n, choice in enumerate(rules.non_answers, 1)}


def keys_of(user: User, rules: JudgingRules) -> Keys:
    """The user's keys for a protocol; none if the user has switched single keys off."""
    if not user.uses_shortcuts:
        return Keys()
    own: Mapping[str, str] = user.judging_keys
    of_choices = positions(rules)
    taken = {own[name] for name in (*of_choices, *(action.name for action in ACTIONS)) if name in own}
    choices = {
        choice.key: own.get(name, "" if choice.shortcut.lower() in taken else choice.shortcut)
        for name, choice in of_choices.items()
    }
    of_questions = {
        (question.key, choice.key): choice.shortcut
        for question in rules.questions
        for choice in question.choices
        if choice.shortcut and choice.shortcut.lower() not in taken
    }
    chosen_by = {key.lower() for key in (*choices.values(), *of_questions.values())}
    usual = {
        action.name: ""
        if action.key in taken or (action.key in chosen_by and action.name != NEXT)
        else action.key
        for action in ACTIONS
    }
    return Keys(choices, of_questions, **(usual | {name: own[name] for name in usual if name in own}))


def collisions(own: Mapping[str, str], rules: JudgingRules) -> dict[str, str]:
    """The own keys that choose something else in a protocol: the label of that choice, by name."""
    of_choices = positions(rules)
    usual = {
        choice.shortcut.lower(): choice.label
        for name, choice in of_choices.items()
        if name not in own and choice.shortcut
    }
    return {name: usual[key] for name, key in own.items() if key in usual and name != NEXT}


class Judged(NamedTuple):
    """A protocol with which a user judges now."""

    title: str
    rules: JudgingRules


def judged_protocols(user: User) -> list[Judged]:
    """The protocols of the user's open batches, by title."""
    batches = batches_of(user).filter(status=Batch.Status.OPEN)
    stored = {batch.pool.protocol_id: batch.pool.protocol for batch in batches}
    return sorted(Judged(protocol.title, protocol.as_written.judging) for protocol in stored.values())
