"""Evidence of a judgment by a model: what it replied, how the reply was read, and what it cost.

The prompt is not part of it; its digest is. The digest is that of the requests as JSON, as `digest_of` writes them.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from assay.digests import sha256_of
from assay.structure import structured

MOST = 10**12  # of a number
Status = Literal["read", "unreadable", "refused"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """Its JSON has exactly these keys.

    Attributes:
        prompt_sha256: of all messages.
        reply: the raw text; a list of texts as JSON if a template asks several times.
        parser: name and version, such as `final-score/1`.
        probabilities: by key of the grade.
        model: as the service reports it.
        cost: a decimal number.
        round: 1, or more if the unit is judged again.
    """

    prompt_sha256: str
    reply: str
    parser: str
    parse_status: Status
    probabilities: Mapping[str, float] | None = None
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: str | None = None
    currency: str = ""
    milliseconds: int = 0
    attempts: int = 0
    is_cached: bool = False
    round: int = 1

    def as_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        given = self.probabilities  # those of `evidence_of` cannot be copied by `asdict`
        return asdict(replace(self, probabilities=None if given is None else dict(given)))


def evidence_of(data: object) -> Evidence:
    """Evidence from its JSON.

    Raises WrongStructure: keys are missing or unknown, or values are of another type.
    """
    return structured(Evidence, data, most=MOST)


def digest_of(messages: Sequence[object]) -> str:
    """
    >>> digest_of([{"role": "user", "content": "é"}])[:8]
    '0ee8edf5'
    """
    return sha256_of(json.dumps(messages, ensure_ascii=False, sort_keys=True).encode())
