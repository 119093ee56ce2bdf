"""Pseudonyms of teams and runs. Only with the map can a name be found from its pseudonym, or the reverse.

The order of the numbers is that of a keyed digest of the names, so numbers tell nothing about names or times. Teams
and runs that come later get further numbers, and earlier pseudonyms never change.
"""

import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from assay.errors import InputError
from assay.structure import WrongStructure, strict_json, structured

FORMAT = 1
TEAM, RUN = "anon-t", "anon-r"
KEPT, REPLACED = "keep", "replace"


@dataclass(frozen=True)
class BlindMap:
    """The names behind the pseudonyms.

    Attributes:
        key: of the digests, in hexadecimal.
        teams: pseudonyms by the name of the team.
        runs: pseudonyms by the tag of the run.
        kept: terms that stay in the text of a run, by its pseudonym: somebody has looked at them.
    """

    key: str
    teams: dict[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    kept: dict[str, list[str]] = field(default_factory=dict)
    format: int = FORMAT

    @property
    def names(self) -> dict[str, str]:
        """The name behind each pseudonym."""
        return {pseudonym: name for names in (self.teams, self.runs) for name, pseudonym in names.items()}

    def extended(self, teams: Iterable[str], runs: Iterable[str]) -> "BlindMap":
        """A map that also has these names."""
        return BlindMap(
            self.key,
            _numbered(self.key, TEAM, self.teams, teams),
            _numbered(self.key, RUN, self.runs, runs),
            self.kept,
        )

    def as_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False, indent=1) + "\n"


def new_map() -> BlindMap:
    return BlindMap(secrets.token_hex(32))


def parse_map(text: str, name: str) -> BlindMap:
    """
    Raises InputError: it is not a map.
    """
    try:
        blind: BlindMap = structured(BlindMap, strict_json(text))
    except (ValueError, RecursionError, WrongStructure) as error:
        raise InputError(f"{name}: not a map of pseudonyms: {error}") from None
    pseudonyms = [*blind.teams.values(), *blind.runs.values()]
    if blind.format != FORMAT or len(set(pseudonyms)) < len(pseudonyms):
        raise InputError(f"{name}: not a map of pseudonyms of format {FORMAT}, with each pseudonym once")
    return BlindMap(
        blind.key,
        dict(blind.teams),
        dict(blind.runs),
        {run: list(terms) for run, terms in blind.kept.items()},
    )


def _numbered(key: str, prefix: str, known: Mapping[str, str], names: Iterable[str]) -> dict[str, str]:
    """The pseudonyms, with those of new names after the others.

    >>> _numbered("k", "r", {"b": "r001"}, ["a", "b"])
    {'b': 'r001', 'a': 'r002'}
    """
    new = sorted({*names} - known.keys(), key=lambda name: _digest(key, prefix, name))
    return {**known, **{name: f"{prefix}{number:03}" for number, name in enumerate(new, len(known) + 1)}}


def _digest(key: str, prefix: str, name: str) -> bytes:
    return hmac.digest(key.encode(), f"{prefix}\0{name}".encode(), "sha256")
