"""The report on a run: each distinct complaint, how often and where it occurs, and what is accepted instead."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Self, TextIO

from assay.errors import plural

FIRST_LINES = 5  # lines that a complaint shows
DISTINCT = 25  # complaints of one code; further ones are counted together

EARLIER_NAMES = {"name": "file_name", "size": "n_bytes", "form": "format"}  # of fields of a report

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the file, escaped and cut."""

    number: int
    text: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Complaint:
    """Something that is wrong (an error), or that the submitter should know (a warning), on `n` lines."""

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
        numbers = list(dict.fromkeys(str(line.number) for line in self.lines))
        more = self.n - len(self.lines)
        word = "line" if len(numbers) == 1 and more <= 0 else "lines"
        return f"{word} {', '.join(numbers)}" + (f" and {more:,} more" if more > 0 else "")

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message

    def as_error(self) -> dict[str, object]:
        """The complaint for a program, with its first line; null if it is about the whole file."""
        line = self.lines[0].number if self.lines else None
        return {
            "line": line,
            "code": self.code,
            "message": self.message,
            "accepted": self.accepted,
            "n": self.n,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the check of one file."""

    file_name: str
    n_bytes: int
    sha256: str
    format: str = ""
    tag: str = ""
    kind: str = ""  # the kind of run that the file itself declares, in the forms that do
    n_lines: int = 0  # with a ranked document
    n_topics: int = 0
    topic_lines: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # by topic, if the protocol limits them
    metadata: Mapping[str, str] = field(default_factory=dict)  # what the file says about itself, by path
    errors: tuple[Complaint, ...] = ()
    warnings: tuple[Complaint, ...] = ()

    @property
    def is_acceptable(self) -> bool:
        return not self.errors

    @property
    def is_repairable(self) -> bool:
        """Return whether something can be repaired, and no other error is left."""
        has_repairable = any(finding.is_repairable for finding in (*self.errors, *self.warnings))
        return has_repairable and all(error.is_repairable for error in self.errors)

    @property
    def errors_in_words(self) -> str:
        """The number of errors, and of the lines that have the error if there is only one.

        >>> tally = Tally()
        >>> tally.error("rank", "rank “x” is not a number", "1, 2, 3", n=1_200, numbers=[4, 5])
        >>> Report("run.txt", 1, "", errors=tally.complaints("error", {})).errors_in_words
        '1,200 lines with one error'
        """
        if len(self.errors) == 1 and self.errors[0].lines:
            return f"{plural(self.errors[0].n, 'line')} with one error"
        return plural(len(self.errors), "error")

    @property
    def slowest(self) -> str:
        """The topic that took longest; empty if no times are known."""
        return max(self.seconds, key=self.seconds.__getitem__, default="")

    @property
    def size(self) -> str:
        return f"{plural(self.n_lines, 'line')}, {plural(self.n_topics, 'topic')}"

    @property
    def time(self) -> str:
        """The time of the topics, in words."""
        if not self.seconds:
            return ""
        mean = sum(self.seconds.values()) / len(self.seconds)
        most = self.seconds[self.slowest]
        return f"{mean:,.1f} seconds per topic on average, {most:,.1f} at most ({self.slowest})"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The report that `as_json` returned, also in an earlier version of Assay."""

        def complaint(content: Mapping[str, Any]) -> Complaint:
            return Complaint(**{**content, "lines": tuple(Line(**line) for line in content["lines"])})

        complaints = {key: tuple(map(complaint, data[key])) for key in ("errors", "warnings")}
        return cls(**{**with_present_names(data), **complaints})


FILE_FACTS = ("sha256", "n_lines", "n_topics")  # of a report, which its run has too


def file_facts(source: object) -> dict[str, Any]:
    """The facts about the file of a run, from its report or from the stored run."""
    return {name: getattr(source, name) for name in FILE_FACTS}


def with_present_names(data: Mapping[str, object]) -> dict[str, Any]:
    """The fields of a stored report, also of an earlier version of Assay, under the names of today."""
    return {EARLIER_NAMES.get(key, key): value for key, value in data.items()}


@dataclass(slots=True)
class Tally:
    """Collects complaints while a file is read, and counts equal ones together.

    Nothing counts as repairable unless the form of the file `can_repair`. Errors with the codes in `tolerated` are
    warnings.
    """

    can_repair: bool = True
    tolerated: Collection[str] = ()
    has_errors: bool = False
    has_unrepairable_errors: bool = False
    _groups: "dict[tuple[str, str], _Group]" = field(default_factory=dict)
    _n_distinct: dict[str, int] = field(default_factory=dict)

    def error(self, code: str, message: str, accepted: str, number: int = 0, **more: Any) -> None:
        """Add an error. `number` is the line (0: none); `more` are the keywords of `_add`."""
        self._add("warning" if code in self.tolerated else "error", code, message, accepted, number, **more)

    def warning(self, code: str, message: str, accepted: str, number: int = 0, **more: Any) -> None:
        """Add a warning, with the same arguments."""
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
        fault: str = "",
    ) -> None:
        """Add a complaint to the group of equal ones.

        Args:
            others: the message of all further complaints, if there are very many different ones of the code.
            fault: the message without the wrong value. Complaints that differ in the value only are one.
        """
        key = (code, fault or message)
        if key not in self._groups and self._n_distinct.get(code, 0) >= DISTINCT:
            key, message = (code, ""), others or "Further complaints of this kind."
        group = self._groups.get(key)
        if group is None:
            repairable = is_repairable and self.can_repair
            complaint = Complaint(code, severity, message, accepted, n=0, is_repairable=repairable)
            group = self._groups[key] = _Group(complaint)
            self._n_distinct[code] = self._n_distinct.get(code, 0) + 1
        elif fault and group.complaint.message != message:
            group.complaint = replace(group.complaint, message=fault)
        if severity == "error":
            self.has_errors = True
            self.has_unrepairable_errors |= not group.complaint.is_repairable
        group.n += n
        lines = list(numbers) or ([number] if number else [])
        n_free = FIRST_LINES - len(group.lines)
        group.lines.extend(Line(line, note=note) for line in lines[:n_free])

    def line_numbers(self) -> set[int]:
        """The numbers of the lines that the report will show."""
        return {line.number for group in self._groups.values() for line in group.lines}

    def complaints(self, severity: Severity, texts: Mapping[int, str]) -> tuple[Complaint, ...]:
        """The complaints of a severity, in the order of the file."""
        groups = self._groups.values()
        return tuple(group.counted(texts) for group in groups if group.complaint.severity == severity)


@dataclass(slots=True)
class _Group:
    complaint: Complaint  # without its number and lines, which grow here
    n: int = 0
    lines: list[Line] = field(default_factory=list)

    def counted(self, texts: Mapping[int, str]) -> Complaint:
        ordered = sorted(self.lines, key=lambda line: line.number)
        lines = tuple(replace(line, text=texts.get(line.number, "")) for line in ordered)
        return replace(self.complaint, n=self.n, lines=lines)


def print_report(report: Report, path: str, file: TextIO | None = None) -> None:
    """Print a report, by default on standard output."""
    verdict = "accepted" if report.is_acceptable else "refused"
    counts = f"{plural(len(report.errors), 'error')}, {plural(len(report.warnings), 'warning')}"
    words = (report.format, report.tag and f"tag {report.tag}", report.kind and f"{report.kind} run")
    form_and_tag = "".join(f"{word}, " for word in words if word)
    lines = [f"{path}: {verdict}, {counts} ({form_and_tag}{report.size})"]
    lines += [f"  {key}: {value}" for key, value in report.metadata.items()]
    for complaint in (*report.errors, *report.warnings):
        lines += [f"  {complaint.severity}: {complaint}", f"      accepted: {complaint.accepted}"]
        for line in complaint.lines:
            note = f"   [{line.note}]" if line.note else ""
            lines.append(f"      {line.number:>8} | {line.text}{note}")
    print("\n".join(lines), file=file)
