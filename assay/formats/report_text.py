"""A report of a check as text for a terminal."""

from collections.abc import Sequence
from typing import TextIO

from assay.formats.reports import Complaint, Report


def print_report(report: Report, path: str, file: TextIO | None = None) -> None:
    """Print a report; on standard output, unless another file is given."""
    verdict = "accepted" if report.is_acceptable else "refused"
    counts = f"{_counted(report.errors, 'error')}, {_counted(report.warnings, 'warning')}"
    what = "".join(f"{word}, " for word in (report.form, report.tag and f"tag {report.tag}") if word)
    lines = [f"{path}: {verdict}, {counts} ({what}{report.n_lines:,} lines, {report.n_topics} topics)"]
    for complaint in (*report.errors, *report.warnings):
        lines += [f"  {complaint.severity}: {complaint}", f"      accepted: {complaint.accepted}"]
        for line in complaint.lines:
            note = f"   [{line.note}]" if line.note else ""
            lines.append(f"      {line.number:>8} | {line.text}{note}")
    print("\n".join(lines), file=file)


def _counted(complaints: Sequence[Complaint], what: str) -> str:
    return f"{len(complaints)} {what}{'' if len(complaints) == 1 else 's'}"
