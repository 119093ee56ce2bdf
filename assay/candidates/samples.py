"""Draws candidates by strata and quotas with a seed, and records the sample so that it can be made again.

A candidate belongs to the first stratum whose conditions it meets. Each candidate has a random number, made of the seed
and its id alone; a stratum gives those with the smallest ones, and the sample is in the order of these numbers. So the
order of the file does not matter, and a larger quota with the same seed only adds candidates.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

from assay.candidates.conditions import Condition, Labels, meets, parse_conditions
from assay.candidates.reader import Candidate
from assay.errors import InputError, Refused, plural
from assay.random_draws import stream_starts

FORMAT = "candidates-sample-1"
MOST = 100_000  # topics of a quota
MOST_PER_TOPIC = 100


class Stratum(NamedTuple):
    """So many topics are wanted of the candidates that meet the conditions."""

    quota: int
    where: tuple[Condition, ...] = ()

    def __str__(self) -> str:
        return f"{self.quota}: {conditions_text(self.where)}" if self.where else str(self.quota)


class Settings(NamedTuple):
    """The rule of a sample. `per_topic` candidates are drawn for each topic of a quota, if there are so many."""

    seed: int
    strata: tuple[Stratum, ...]
    where: tuple[Condition, ...] = ()
    per_topic: int = 1

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return tuple(chain(self.where, *(stratum.where for stratum in self.strata)))

    @property
    def needs_text(self) -> bool:
        return any(condition.name == "text" for condition in self.conditions)

    @property
    def needs_labels(self) -> bool:
        return any(condition.is_label for condition in self.conditions)


class Drawn(NamedTuple):
    """A candidate of a sample, and the number of its stratum, from 1."""

    id: str
    stratum: int


@dataclass(frozen=True)
class Sample:
    """The candidates that were drawn, in their random order. `available` and `drawn` are by stratum."""

    settings: Settings
    rows: tuple[Drawn, ...]
    available: tuple[int, ...]
    n: int
    n_meeting: int

    @property
    def drawn(self) -> tuple[int, ...]:
        numbers = [row.stratum for row in self.rows]
        return tuple(numbers.count(n) for n in range(1, len(self.available) + 1))


def conditions_text(conditions: Iterable[Condition]) -> str:
    """Conditions as they are written."""
    return ", ".join(map(str, conditions))


def parse_stratum(text: str, labels: Iterable[str] = ()) -> Stratum:
    """A quota and its conditions: `89: linked=1..`, or only a number for all others.

    Raises:
        InputError: The text cannot be read; what is accepted.
    """
    number, _, conditions = (part.strip() for part in text.partition(":"))
    if not number.isascii() or not number.isdigit() or not 1 <= int(number[:9]) <= MOST or len(number) > 9:
        raise InputError(
            f"“{text[:80]}” is not a quota; write a number from 1 to {MOST:,}, and conditions after a colon, such as "
            "89: linked=1.."
        )
    return Stratum(int(number), parse_conditions(conditions, labels))


def draw(candidates: Iterable[Candidate], settings: Settings, labels: Labels) -> Sample:
    """Draw the sample of candidates that the settings describe.

    Raises:
        Refused: A stratum has fewer candidates than its quota; the message has all counts.
    """
    ids: list[list[str]] = [[] for _ in settings.strata]
    n = n_meeting = 0
    for candidate in candidates:
        n += 1
        if not meets(candidate, settings.where, labels):
            continue
        n_meeting += 1
        of_candidate = (m for m, (_, where) in enumerate(settings.strata) if meets(candidate, where, labels))
        if (first := next(of_candidate, None)) is not None:
            ids[first].append(candidate.id)
    available = tuple(map(len, ids))
    pairs = list(zip(settings.strata, available, strict=True))
    if not all(n >= stratum.quota for stratum, n in pairs):
        lines = [
            f"{stratum.quota:,} wanted, {n:,} available: {conditions_text(stratum.where) or 'all others'}"
            for stratum, n in pairs
        ]
        meeting = plural(n_meeting, "candidate meets,candidates meet")
        start = f"{meeting} the conditions of all strata"
        message = "\n".join([f"{start}, and they do not suffice for the quotas:", *lines])
        raise Refused(message, code="quotas-refused", title="These quotas cannot be met")
    chosen: list[tuple[int, Drawn]] = []
    for number, (stratum, own) in enumerate(zip(settings.strata, ids, strict=True), 1):
        starts = stream_starts(settings.seed, ((b"candidate", docno.encode()) for docno in own)).tolist()
        smallest = sorted(zip(starts, own, strict=True))[: stratum.quota * settings.per_topic]
        chosen += [(key, Drawn(docno, number)) for key, docno in smallest]
    return Sample(settings, tuple(row for _, row in sorted(chosen)), available, n, n_meeting)


def as_record(sample: Sample, *, sha256: str, labels_sha256: str = "") -> bytes:
    """The file of a sample: how it was drawn, from what, and the candidates. `sha256` is that of all candidates."""
    settings = sample.settings
    strata = [
        {
            "quota": stratum.quota,
            "where": list(map(str, stratum.where)),
            "available": available,
            "drawn": drawn,
        }
        for stratum, available, drawn in zip(settings.strata, sample.available, sample.drawn, strict=True)
    ]
    head: dict[str, Any] = {
        "format": FORMAT,
        "seed": settings.seed,
        "per_topic": settings.per_topic,
        "where": list(map(str, settings.where)),
        "candidates": {"sha256": sha256, "n": sample.n, "n_meeting": sample.n_meeting},
        "labels": labels_sha256,
    }
    lines = [f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in head.items()]
    lines.append(f'"strata": [\n {_joined(strata)}\n]')
    lines.append(f'"sample": [\n {_joined([row._asdict() for row in sample.rows])}\n]')
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _joined(rows: Iterable[Mapping[str, object]]) -> str:
    return ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows)


class Record(NamedTuple):
    """The file of a sample as it was read: its settings, and the digests of what it was drawn from."""

    settings: Settings
    sha256: str
    labels_sha256: str
    rows: tuple[Drawn, ...]


def read_record(data: bytes, name: str, labels: Iterable[str] | None = None) -> Record:
    """Read the file of a sample.

    Raises:
        InputError: It is not such a file, or names a label that is not among `labels`.
    """
    known = None if labels is None else [*labels]
    try:
        content = json.loads(data)
        if content["format"] != FORMAT:
            raise KeyError("format")
        strata = [Stratum(int(row["quota"]), _conditions(row["where"], known)) for row in content["strata"]]
        settings = Settings(
            int(content["seed"]),
            tuple(strata),
            _conditions(content["where"], known),
            int(content["per_topic"]),
        )
        rows = tuple(Drawn(str(row["id"]), int(row["stratum"])) for row in content["sample"])
        return Record(settings, content["candidates"]["sha256"], content["labels"], rows)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{name} is not a sample that `assay candidates sample` wrote") from None


def _conditions(texts: Iterable[str], labels: list[str] | None) -> tuple[Condition, ...]:
    return tuple(chain.from_iterable(parse_conditions(text, labels) for text in texts))
