"""Reads and checks the seconds of each topic, a file that accompanies a run if the protocol limits the time::

    topic seconds

Columns are separated by white space, a comma or a semicolon; a first line that names them is skipped.
"""

import math
import re
from collections.abc import Collection
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from assay.digests import sha256_of_file
from assay.errors import InputError, plural
from assay.formats.compression import Limits, Unreadable, opened, unpack
from assay.formats.reports import Complaint, Report, Tally
from assay.formats.runs.rows import MAX_TOPIC, SCORE, quoted
from assay.formats.runs.text import Lines, shown
from assay.protocols.schema import Protocol

SEPARATOR = re.compile(rb"[\s,;]+")
TITLE = "topic seconds"
LIMITS = Limits(max_file=4 << 20, max_text=16 << 20, max_lines=100_000)


def check_seconds(
    source: BinaryIO | Path, *, protocol: Protocol, name: str, topics: Collection[str] | None = None
) -> Report:
    """Read a file of seconds and report everything that is wrong with it.

    Raises `InputError` if the protocol does not limit the time per topic; `OSError` if the source cannot be read.
    """
    most = protocol.runs.max_seconds_per_topic
    if most is None:
        raise InputError(
            f"{protocol.slug}: runs.max_seconds_per_topic is missing, so there is no file of seconds"
        )
    return read_seconds(source, most=most, name=name, topics=topics)


def read_seconds(
    source: BinaryIO | Path, *, most: float, name: str, topics: Collection[str] | None = None
) -> Report:
    """Read a file of at most `most` seconds for each topic, and report everything that is wrong with it.

    Raises `OSError` if the source cannot be read.
    """
    with opened(source, LIMITS) if isinstance(source, Path) else nullcontext(source) as file:
        return _Seconds(file, name, most, None if topics is None else set(topics)).run()


def with_seconds(report: Report, seconds: Report | None, *, protocol: Protocol) -> Report:
    """A run's report with the seconds of a correct file of seconds, or with a warning if the file is missing."""
    most = protocol.runs.max_seconds_per_topic
    if seconds is not None:
        return replace(report, seconds=seconds.seconds, warnings=(*report.warnings, *seconds.warnings))
    if most is None:
        return report
    message = "The file of seconds for each topic is missing."
    missing = Complaint("no-seconds", "warning", message, f"{TITLE}, at most {most:,.0f} per topic.", 1)
    return replace(report, warnings=(*report.warnings, missing))


def _shown(seconds: float) -> str:
    """A number of seconds with its decimals: 120.5 is more than 120.

    >>> _shown(120.5), _shown(3600.0)
    ('120.5', '3,600')
    """
    return f"{seconds:,}".removesuffix(".0")


@dataclass(slots=True)
class _Seconds:
    file: BinaryIO
    name: str
    most: float
    known: set[str] | None
    tally: Tally = field(default_factory=lambda: Tally(can_repair=False))
    first_of: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)

    def run(self) -> Report:
        try:
            for first, chunk in Lines(unpack(self.file, LIMITS), LIMITS):
                self._take(first, chunk)
        except Unreadable as error:
            self.tally.error(error.code, error.reason, error.accepted)
        if not self.first_of and not self.tally.has_errors:
            self.tally.error("empty", "The file has no line with seconds.", f"{TITLE}, one topic per line.")
        missing = sorted((self.known or set()) - self.first_of.keys(), key=lambda code: (len(code), code))
        if missing:
            more = f" and {len(missing) - 20} more" if len(missing) > 20 else ""
            named = ", ".join(missing[:20]) + more
            message = f"no seconds for {len(missing)} of {plural(len(self.known or ()), 'topic')}: {named}"
            self.tally.warning("missing-topics", message, "One line per topic.", n=len(missing))
        return Report(
            file_name=self.name,
            n_bytes=self.file.seek(0, 2),
            sha256=sha256_of_file(self.file),
            format="seconds",
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
            words = [word for word in SEPARATOR.split(line) if word]
            if not words or (not self.first_of and words[-1].lower() == b"seconds"):
                continue
            self._check_line(words, number)
            if number in self.tally.line_numbers():
                self.texts[number] = shown(line)

    def _check_line(self, words: list[bytes], number: int) -> None:
        if len(words) != 2:
            self.tally.error("columns", f"expected 2 columns, got {len(words)}", f"{TITLE}.", number)
            return
        topic = words[0][:MAX_TOPIC].decode("utf-8", "replace")
        if topic in self.first_of:
            note = f"{topic} is first in line {self.first_of[topic]}"
            message = "the topic already has a line"
            self.tally.error("repeated", message, "One line per topic.", number, note=note)
        elif self.known is not None and topic not in self.known:
            message = f"unknown topic “{topic}”"
            accepted = f"The topics of the track ({len(self.known)})."
            self.tally.error("unknown-topic", message, accepted, number, others="other unknown topics")
        self.first_of.setdefault(topic, number)
        seconds = float(words[1]) if SCORE.fullmatch(words[1]) else math.nan
        if not 0 <= seconds < math.inf:
            message, fault = f"{quoted(words[1])} is not a number of seconds", "the seconds are not a number"
            self.tally.error("seconds", message, "A number such as 12.5.", number, fault=fault)
        elif seconds > self.most:
            message = f"topic “{topic}” took {_shown(seconds)} seconds"
            accepted = f"At most {_shown(self.most)} seconds per topic."
            self.tally.error("too-slow", message, accepted, number, others="other topics took too long")
        else:
            self.seconds[topic] = seconds
