"""A run under its pseudonym: the columns and fields that name it are replaced, and statements about it left out."""

import json
from typing import Any

from assay.errors import InputError
from assay.structure import strict_json

TEAM_KEYS = frozenset({"team_id", "team", "org"})
RUN_KEYS = frozenset({"run_id", "runtag", "run", "tag"})
# Of `metadata`; what else a team writes there is left out.
KEPT_KEYS = frozenset(
    {"topic_id", "narrative_id", "request_id", "query_id", "qid", "narrative", "query", "title", "topic"}
    | {"problem_statement", "background", "limit", "type", "language"}
)


def blinded(text: str, *, team: str, run: str, name: str) -> str:
    """The text of a run with its pseudonyms.

    Args:
        text: lines with the tag in the last column, or lines of JSON.
        team: the pseudonym of the team.
        run: that of the run.
        name: of the file, for the message.

    Raises:
        InputError: It is of another form.
    """
    start = text.lstrip("\ufeff \t\r\n")[:1]
    if start == "<":
        raise InputError(f"{name}: a run in XML cannot be blinded; leave it out of the manifest")
    if start != "{":
        return _lines(text, run)
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        rows = [strict_json(line) for line in lines]
    except (ValueError, RecursionError):
        raise InputError(f"{name}: expected a JSON object in each line") from None
    if not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{name}: expected a JSON object in each line")
    return "".join(json.dumps(_object(row, team, run), ensure_ascii=False) + "\n" for row in rows)


def _lines(text: str, run: str) -> str:
    """Lines with the pseudonym in their last column. Comments, such as a header of ir_metadata, are left out.

    >>> _lines("# by us\\nA.1 Q0 d1 1 2.5 ours\\n", "anon-r001")
    'A.1 Q0 d1 1 2.5 anon-r001\\n'
    """
    kept = [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return "".join(f"{line[: len(line) - len(line.split()[-1])]}{run}\n" for line in kept)


def _object(row: dict[str, Any], team: str, run: str) -> dict[str, Any]:
    named = {key: _named(key, value, team, run) for key, value in row.items()}
    if isinstance(metadata := row.get("metadata"), dict):
        kept = {key: _named(key, value, team, run) for key, value in metadata.items()}
        named["metadata"] = {
            key: value for key, value in kept.items() if key in KEPT_KEYS | TEAM_KEYS | RUN_KEYS
        }
    return named


def _named(key: str, value: object, team: str, run: str) -> Any:
    if not isinstance(value, str):
        return value
    return team if key in TEAM_KEYS else run if key in RUN_KEYS else value
