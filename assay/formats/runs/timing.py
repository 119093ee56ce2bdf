"""The file of seconds that goes with a run where the protocol bounds them: one line for each topic.

    topic seconds

Columns are separated by white space, a comma or a semicolon; a first line that names them is skipped.
"""

import hashlib
import math
import re
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from assay.formats.compression import Limits, Unreadable, opened, unwrap
from assay.formats.lines import Lines, shown
from assay.formats.reports import Complaint, Report, Tally
from assay.formats.runs.rows import MAX_NAME, SCORE, quoted
from assay.protocols.schema import Protocol

PARTED = re.compile(rb"[\s,;]+")
TITLE = "topic seconds"
LIMITS = Limits(max_file=4 << 20, max_text=16 << 20, max_lines=100_000)


class NoSeconds(ValueError):
    """A protocol that bounds no time."""


def check_seconds(
    source: BinaryIO | Path, *, protocol: Protocol, name: str, topics: Collection[str] | None = None
) -> Report:
    """Say everything that is wrong with a file of seconds.

    Raises
    ------
    NoSeconds
        The protocol bounds no time, so that there is no such file.
    OSError
        The source cannot be read.
    """
    most = protocol.runs.max_seconds_per_topic
    if most is None:
        raise NoSeconds(f"{protocol.slug}: runs.max_seconds_per_topic: there is none, so no file of seconds")
    with opened(source, LIMITS) if isinstance(source, Path) else nullcontext(source) as file:
        return _Seconds(file, name, most, None if topics is None else set(topics)).run()


def with_seconds(report: Report, seconds: Report | None, *, protocol: Protocol) -> Report:
    """A run's report with the seconds that a good file of them gives, or with a warning where it is missing."""
    most = protocol.runs.max_seconds_per_topic
    if seconds is not None:
        return replace(report, seconds=seconds.seconds, warnings=(*report.warnings, *seconds.warnings))
    if most is None:
        return report
    message = "The file of seconds for each topic is missing."
    missing = Complaint("no-seconds", "warning", message, f"{TITLE}, at most {most:,.0f} a topic.", 1)
    return replace(report, warnings=(*report.warnings, missing))


class _Seconds:
    """One file on its way to a report."""

    def __init__(self, file: BinaryIO, name: str, most: float, known: set[str] | None) -> None:
        self.file = file
        self.name = name
        self.most = most
        self.known = known
        self.tally = Tally()
        self.tally.can_repair = False
        self.first_of: dict[str, int] = {}
        self.seconds: dict[str, float] = {}
        self.texts: dict[int, str] = {}

    def run(self) -> Report:
        self.file.seek(0, 2)
        size = self.file.tell()
        try:
            for first, chunk in Lines(unwrap(self.file, size, LIMITS), LIMITS):
                self._take(first, chunk)
        except Unreadable as complaint:
            self.tally.error(complaint.code, complaint.message, complaint.accepted)
        if not self.first_of and not self.tally.has_errors:
            self.tally.error("empty", "The file has no line with seconds.", f"{TITLE}, one topic a line.")
        self._warn_of_missing()
        self.file.seek(0)
        return Report(
            name=self.name,
            size=size,
            sha256=hashlib.file_digest(self.file, "sha256").hexdigest(),  # type: ignore[arg-type]
            form="seconds",
            n_lines=len(self.first_of),
            n_topics=len(self.first_of),
            seconds=self.seconds,
            errors=self.tally.complaints("error", self.texts),
            warnings=self.tally.complaints("warning", self.texts),
        )

    def _take(self, first: int, chunk: bytes) -> None:
        if first + chunk.count(b"\n") - 1 > LIMITS.max_lines:
            raise Unreadable("too-many-lines", f"The file has more than {LIMITS.max_lines:,} lines.", TITLE)
        for number, line in enumerate(chunk.removesuffix(b"\n").split(b"\n"), first):
            words = [word for word in PARTED.split(line) if word]
            if not words or (not self.first_of and words[-1].lower() == b"seconds"):
                continue
            self._check_line(words, number)
            if number in self.tally.line_numbers():
                self.texts[number] = shown(line)

    def _check_line(self, words: list[bytes], number: int) -> None:
        if len(words) != 2:
            self.tally.error("columns", f"expected 2 columns, got {len(words)}", f"{TITLE}.", number)
            return
        topic = words[0][:MAX_NAME].decode("utf-8", "replace")
        self._check_topic(topic, number)
        seconds = float(words[1]) if SCORE.fullmatch(words[1]) else math.nan
        if not 0 <= seconds < math.inf:
            message = f"{quoted(words[1])} is no number of seconds"
            self.tally.error("seconds", message, "A number such as 12.5.", number, others="other such words")
        elif seconds > self.most:
            message = f"topic “{topic}” took {seconds:,.0f} seconds"
            accepted = f"At most {self.most:,.0f} seconds a topic."
            self.tally.error("too-slow", message, accepted, number, others="other topics took too long")
        else:
            self.seconds[topic] = seconds

    def _check_topic(self, topic: str, number: int) -> None:
        if topic in self.first_of:
            note = f"{topic} first stands in line {self.first_of[topic]}"
            self.tally.error(
                "repeated", "the topic has its line already", "A line a topic.", number, note=note
            )
        elif self.known is not None and topic not in self.known:
            message = f"unknown topic “{topic}”"
            accepted = f"The track's {len(self.known)} topics."
            self.tally.error("unknown-topic", message, accepted, number, others="other unknown topics")
        self.first_of.setdefault(topic, number)

    def _warn_of_missing(self) -> None:
        missing = sorted((self.known or set()) - self.first_of.keys())
        if missing:
            named = ", ".join(missing[:20]) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
            message = f"{len(missing)} of {len(self.known or ())} topics have no seconds: {named}"
            self.tally.warning("missing-topics", message, "A line a topic.", n=len(missing))
