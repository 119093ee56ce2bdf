"""The facts of a run: declared once, and read by pages, the API, commands, manifests and archives."""

import argparse
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assay.protocols.schema import RunRules  # importing it takes 10 ms of the start of a command

MADE: Mapping[str, str] = MappingProxyType({"automatic": "automatically", "manual": "with manual steps"})
Words = Callable[["RunRules", bool], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Statement:
    """One question to the submitter: by `help` in the API, by `option` in a command, by `label` and `hint` on a page.

    `words` are those that the protocol accepts from organizers or from teams, as pages name them. Without words in the
    protocol a page does not ask. A statement without `words` is free text of at most `limit` characters. `column` is
    its name in a manifest and on a page, if that is another one.
    """

    help: str
    option: str
    hint: Callable[["RunRules"], str] = lambda rules: ""
    label: str | None = None
    words: Words | None = None
    usual: Callable[["RunRules"], str] = lambda rules: ""
    limit: int | None = None
    column: str = ""
    may_be_blank: bool = False


def _stated(default: object, **texts: Any) -> Any:
    return field(default=default, metadata={"statement": Statement(**texts)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The statements of a submitter about a run. An empty tag: that of the file, or the team and kind of the run.

    `pooled_as` is for kinds that the protocol pools as another one. Without `uses`, the usual word of the protocol.
    """

    tag: str = _stated(
        "",
        help="Empty: the tag in the file.",
        option="tag of the run (default: the tag in the file)",
        hint=lambda rules: (
            "The run's name, one word. Empty: "
            + ("the tag in the file." if rules.names_runs else "its team and kind.")
        ),
        limit=100,
    )
    kind: str = _stated(
        "",
        help="One of the `kinds` of the track.",
        option="kind of run that the protocol allows, such as primary",
        words=lambda rules, is_organizer: {
            kind.key: kind.name for kind in rules.kinds if is_organizer or kind.submitted_by == "teams"
        },
    )
    pooled_as: str = _stated(
        "",
        help="The kind that it is pooled as, where the protocol pools its kind as another one.",
        option="kind that it is pooled as, if the protocol pools its kind as another (default: the protocol's)",
        hint=lambda rules: f"For {', '.join(kind.name for kind in rules.kinds if kind.pooled_as)} runs only.",
        label="Pooled",
        words=lambda rules, is_organizer: (
            {"": "as the protocol states"} | {key: f"as {rules.name_of(key)}" for key in rules.depths}
            if is_organizer and any(kind.pooled_as for kind in rules.kinds)
            else {}
        ),
    )
    is_manual: bool = _stated(
        False,
        help="Whether a person changed anything after seeing the topics.",
        option="a person changed queries, results or their order",
        hint=lambda rules: (
            "Manual: a person changed queries, results or their order after seeing the topics."
        ),
        words=lambda rules, is_organizer: MADE,
        column="made",
    )
    uses: str = _stated(
        "",
        help="One of the `uses` of the track, if it has any. Empty: the last of them.",
        option="what the run uses, in a word of the protocol such as text (default: what is usual in it)",
        words=lambda rules, is_organizer: rules.uses,
        usual=lambda rules: rules.usual_use,
        may_be_blank=True,
    )
    description: str = _stated(
        "",
        help="How the run was made.",
        option="description of the system, for the organizers",
        hint=lambda rules: "How the run was made.",
        limit=10_000,
        may_be_blank=True,
    )
    models_used: str = _stated(
        "",
        help="The models that it used, one per line: name; family; tokens; cost; energy.",
        option="models that it used, one per line, such as 'gpt-4o-mini; gpt; 1200000 tokens; 3.20 USD; 0.4 kWh'",
        hint=lambda rules: (
            "One per line: name; family; then what is known, such as 1200000 tokens; 3.20 USD; 0.4 kWh. "
            "Empty: none, or those of method.models in the file's header."
        ),
        limit=10_000,
        may_be_blank=True,
        column="models",
    )
    answers: str = _stated(
        "",
        help="The answers to the questions of the protocol about runs, as a JSON object by key of the question.",
        option='answers to the questions of the protocol about runs, such as \'{"models": "BM25"}\'',
        words=lambda rules, is_organizer: {},  # a page has a field for each question
        limit=50_000,
        may_be_blank=True,
    )


STATEMENTS: Mapping[str, Statement] = MappingProxyType(
    {member.name: member.metadata["statement"] for member in fields(Declaration)}
)
COLUMNS = tuple(statement.column or name for name, statement in STATEMENTS.items())  # of a manifest


def _added(column: str) -> Any:
    return field(metadata={"column": column})


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """A submitted run, as archives and the site state it: what its team states, and what the site adds.

    `sha256` is that of the submitted bytes, and `priority` its place among the runs of its team. A fact with a column
    is in the list of `assay runs`.
    """

    team: str = _added("team")
    tag: str = _added("tag")
    kind: str = _added("kind")
    status: str = _added("status")
    priority: int = 0
    is_manual: bool
    uses: str
    pooled_as: str
    description: str
    models_used: str = ""
    answers: dict[str, Any] = field(default_factory=dict)  # to the questions of the protocol about runs
    is_late: bool = field(default=False, metadata={"column": "late"})
    n_lines: int = _added("lines")
    n_topics: int = _added("topics")
    submitted_at: str = _added("submitted (UTC)")
    file_name: str = _added("file")
    sha256: str
    withdrawn_at: str = ""


LISTED: Mapping[str, str] = MappingProxyType(
    {fact.name: fact.metadata["column"] for fact in fields(RunFacts) if fact.metadata}
)
ADDED = {
    name: LISTED[name] for name in ("is_late", "n_lines", "n_topics")
}  # to the statements, of published runs


def add_statements(parser: argparse.ArgumentParser, *, required: str = "") -> None:
    """Add an option of a command for each statement."""
    for name, statement in STATEMENTS.items():
        if name == "is_manual":
            parser.add_argument("--manual", dest=name, action="store_true", help=statement.option)
        else:
            option = f"--{name.replace('_', '-')}"
            parser.add_argument(option, default="", required=name == required, help=statement.option)


def values_of(stated: object) -> dict[str, Any]:
    """The values of a declaration, or of a run that has them, by name."""
    return {name: getattr(stated, name) for name in STATEMENTS}


def columns_of(stated: object) -> dict[str, str]:
    """The same as the columns of a manifest."""
    values = values_of(stated) | {"is_manual": "manual" if values_of(stated)["is_manual"] else "automatic"}
    if not isinstance(values["answers"], str):  # of a stored run
        values["answers"] = json.dumps(values["answers"], ensure_ascii=False) if values["answers"] else ""
    return {column: values[name] for column, name in zip(COLUMNS, STATEMENTS, strict=True)}
