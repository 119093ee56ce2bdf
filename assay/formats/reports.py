"""The report on a run: every distinct complaint, how often, where, and what is accepted instead."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Self

FIRST_LINES = 5  # of one complaint
DISTINCT = 25  # complaints of one code; what comes after is counted together

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line that a complaint is about, as in the file but escaped and cut."""

    number: int
    text: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """One thing that is wrong (an error), or that the submitter should know (a warning)."""

    code: str
    severity: Severity
    message: str
    accepted: str
    n: int
    lines: tuple[Line, ...] = ()
    is_repairable: bool = False

    @property
    def where(self) -> str:
        """`line 17`, `lines 17, 18 and 40 more`, or nothing."""
        if not self.lines:
            return ""
        numbers = ", ".join(str(line.number) for line in self.lines)
        more = self.n - len(self.lines)
        word = "line" if self.n == 1 else "lines"
        return f"{word} {numbers}" + (f" and {more:,} more" if more > 0 else "")

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass(frozen=True, slots=True)
class Report:
    """What the check of one file found."""

    name: str
    size: int
    sha256: str
    form: str = ""
    tag: str = ""
    n_lines: int = 0  # that hold a ranked document
    n_topics: int = 0
    topic_lines: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # by topic, where the protocol bounds them
    errors: tuple[Complaint, ...] = ()
    warnings: tuple[Complaint, ...] = ()

    @property
    def is_acceptable(self) -> bool:
        return not self.errors

    @property
    def is_repairable(self) -> bool:
        """Whether a repaired file is worth having: something can be repaired, and nothing else forbids it."""
        complaints = (*self.errors, *self.warnings)
        return all(error.is_repairable for error in self.errors) and any(
            one.is_repairable for one in complaints
        )

    @property
    def slowest(self) -> str:
        """The topic that took longest; empty where no time is known."""
        return max(self.seconds, key=self.seconds.__getitem__, default="")

    @property
    def time(self) -> str:
        """How long the topics took, in words."""
        if not self.seconds:
            return ""
        mean = sum(self.seconds.values()) / len(self.seconds)
        most = self.seconds[self.slowest]
        return f"{mean:,.1f} seconds a topic in the mean, {most:,.1f} at most ({self.slowest})"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The report that `as_json` gave."""
        complaints = {
            key: tuple(
                Complaint(**{**one, "lines": tuple(Line(**line) for line in one["lines"])})
                for one in data[key]
            )
            for key in ("errors", "warnings")
        }
        return cls(**{**data, **complaints})


class Tally:
    """Collects complaints while a file is read; equal ones are counted together.

    Nothing is called repairable unless the form of the file `can_repair`.
    """

    def __init__(self) -> None:
        self.can_repair = True
        self._found: dict[tuple[str, str], _Group] = {}
        self._n_distinct: dict[str, int] = {}

    def error(self, code: str, message: str, accepted: str, number: int = 0, **more: Any) -> None:
        """Note an error. `number` is the line (0: none); `n`, `note`, `is_repairable` and `others` may be given."""
        self._add("error", code, message, accepted, number, **more)

    def warning(self, code: str, message: str, accepted: str, number: int = 0, **more: Any) -> None:
        """Note a warning, likewise."""
        self._add("warning", code, message, accepted, number, **more)

    def _add(
        self,
        severity: Severity,
        code: str,
        message: str,
        accepted: str,
        number: int,
        *,
        n: int = 1,
        note: str = "",
        numbers: Iterable[int] = (),
        is_repairable: bool = False,
        others: str = "",
    ) -> None:
        key = (code, message)
        if key not in self._found and self._n_distinct.get(code, 0) >= DISTINCT:
            key, message = (code, ""), others or "Further complaints of the same sort."
        group = self._found.get(key)
        if group is None:
            is_repairable = is_repairable and self.can_repair
            group = self._found[key] = _Group(severity, code, message, accepted, is_repairable)
            self._n_distinct[code] = self._n_distinct.get(code, 0) + 1
        group.n += n
        given = list(numbers) or ([number] if number else [])
        room = FIRST_LINES - len(group.lines)
        group.lines.extend(Line(one, note=note) for one in given[:room])

    @property
    def has_errors(self) -> bool:
        return any(group.severity == "error" for group in self._found.values())

    @property
    def has_unrepairable_errors(self) -> bool:
        return any(group.severity == "error" and not group.is_repairable for group in self._found.values())

    def line_numbers(self) -> set[int]:
        """Numbers of the lines whose text the report will show."""
        return {line.number for group in self._found.values() for line in group.lines}

    def complaints(self, severity: Severity, texts: Mapping[int, str]) -> tuple[Complaint, ...]:
        """The complaints of a severity, in the order in which they were found."""
        return tuple(group.complaint(texts) for group in self._found.values() if group.severity == severity)


@dataclass(slots=True)
class _Group:
    severity: Severity
    code: str
    message: str
    accepted: str
    is_repairable: bool
    n: int = 0
    lines: list[Line] = field(default_factory=list)

    def complaint(self, texts: Mapping[int, str]) -> Complaint:
        lines = tuple(
            Line(line.number, texts.get(line.number, ""), line.note)
            for line in sorted(self.lines, key=lambda line: line.number)
        )
        return Complaint(
            self.code, self.severity, self.message, self.accepted, self.n, lines, self.is_repairable
        )
