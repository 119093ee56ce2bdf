"""Prints the report on a run for a terminal."""

from collections.abc import Sequence
from typing import TextIO

from assay.formats.reports import Complaint, Report


def print_report(report: Report, path: str, file: TextIO | None = None) -> None:
    """Print a report, by default on standard output."""
    verdict = "accepted" if report.is_acceptable else "refused"
    counts = f"{_counted(report.errors, 'error')}, {_counted(report.warnings, 'warning')}"
    form_and_tag = "".join(f"{word}, " for word in (report.form, report.tag and f"tag {report.tag}") if word)
    lines = [
        f"{path}: {verdict}, {counts} ({form_and_tag}{report.n_lines:,} lines, {report.n_topics} topics)"
    ]
    for complaint in (*report.errors, *report.warnings):
        lines += [f"  {complaint.severity}: {complaint}", f"      accepted: {complaint.accepted}"]
        for line in complaint.lines:
            note = f"   [{line.note}]" if line.note else ""
            lines.append(f"      {line.number:>8} | {line.text}{note}")
    print("\n".join(lines), file=file)


def _counted(complaints: Sequence[Complaint], noun: str) -> str:
    return f"{len(complaints)} {noun}{'' if len(complaints) == 1 else 's'}"
