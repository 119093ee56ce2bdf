"""A leaderboard as a file: TSV and CSV with a row per run, JSON with every detail, LaTeX for a paper.

All four have the values of the page, with its four decimals.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils.translation import gettext

from accounts.access import AnyUser
from accounts.visitors import same_for_readers
from assay.archive.description import braced
from assay.errors import plural
from assay.formats.spreadsheet import as_csv
from assay.protocols.run_answers import public_answers, public_questions
from assay.tables import as_tsv, one_word
from assay.tables.answers import answer_cells, answer_columns, explained
from assay.tables.paper import CHECK, Column, Group, PaperTable, Value, as_latex
from pooling.runs.names import Names, names_for
from scoring.evaluations.selectors import OF_FAMILY
from scoring.leaderboards.rows import BoardRow, number_of
from scoring.leaderboards.selectors import mean_seconds, named_rows
from scoring.models import Leaderboard
from scoring.qrels.exports import file_stem
from scoring.selectors import provenance, seen_by
from tracks.models import Track
from web.pages import counted
from web.statements import Prepared


def leaderboard_file(board: Leaderboard, kind: str, user: AnyUser | None = None) -> str:
    """The leaderboard, sorted by its first measure, as `tsv`, `csv`, `json` or `tex`, with the names that a user reads.

    Without a user, it has all names. As long as names are not hidden, it is the same for all readers.
    """
    names = names_for(user, board.track) if user is not None else Names(board.track_id)
    rows = sorted(named_rows(user or AnonymousUser(), board, names), key=lambda row: -row.cells[0].value)
    if kind == "json":
        return _json(board, rows, names)
    if kind == "tex":
        return _latex(board, rows)
    return as_csv(*_table(board, rows)) if kind == "csv" else as_tsv(*_table(board, rows))


def kept_file(user: AnyUser, board: Leaderboard, kind: str) -> str:
    """The same file for downloads, of which there are many on the day of a release."""
    names = names_for(user, board.track)
    if names.own_teams:  # which only the reader reads
        return leaderboard_file(board, kind, user)
    name = f"leaderboard {board.pk}.{kind}{' under pseudonyms' if names.are_hidden else ''}"
    return same_for_readers(name, lambda: leaderboard_file(board, kind, user))


class ReleasedFile(NamedTuple):
    """A file of released results; `page` shows the same."""

    name: str
    address: str
    page: str
    text: str
    sha256: str = ""


_RELEASED = Prepared(
    lambda user, track: (
        seen_by(user)
        .filter(track=track)
        .exclude(release=Leaderboard.Release.HIDDEN)
        .select_related("qrels__track")
        .order_by("-qrels__version", "-pk")
    )
)


def released_files(user: AnyUser, track: Track) -> list[ReleasedFile]:
    """The qrels of released leaderboards, newest first, each with the files of its newest leaderboard. One query."""
    newest: dict[int, Leaderboard] = {}
    for board in _RELEASED(user=user.pk, track=track.pk):
        newest.setdefault(board.qrels_id, board)
    return [file for board in newest.values() for file in _files_of(board)]


def _files_of(board: Leaderboard) -> list[ReleasedFile]:
    qrels, page = board.qrels, board.get_absolute_url()
    size = f"{counted(qrels.n_judged, 'unit')}, {counted(qrels.n_topics, 'topic')}"
    stem = board.file_stem
    return [
        ReleasedFile(
            f"{file_stem(qrels)}.tsv",
            reverse("scoring:qrels_file", args=[qrels.pk]),
            qrels.get_absolute_url(),
            gettext("Qrels: %(size)s") % {"size": size},
            qrels.sha256,
        ),
        ReleasedFile(
            f"{stem}.tsv",
            reverse("scoring:leaderboard_file", args=[board.pk, "tsv"]),
            page,
            gettext("Leaderboard"),
        ),
        ReleasedFile(
            f"{stem}-topics.tsv",
            reverse("scoring:topics_file", args=[board.pk, "tsv"]),
            page,
            gettext("Values by topic"),
        ),
    ]


def citation(board: Leaderboard, address: str) -> str:
    """A leaderboard as an entry for a bibliography."""
    made = board.released_at or board.created_at
    by_machine = f", judged by {braced(board.qrels.machine_name)}" if board.qrels.machine_name else ""
    entry = {
        "title": f"{{Leaderboard of {braced(board.track.name)}{by_machine}}}",
        "year": f"{made:%Y}",
        "url": braced(address),
        "note": f"Qrels version {board.qrels.version},\n    SHA-256 {board.qrels.sha256}",
    }
    fields = "".join(f"  {name:<5} = {{{value}}},\n" for name, value in entry.items())
    return f"@misc{{{board.track.slug}-leaderboard-{board.pk},\n{fields}}}"


def _table(board: Leaderboard, rows: Sequence[BoardRow]) -> tuple[list[str], list[list[str]]]:
    uses = ["uses"] if _has_uses(board) else []
    late = ["after the qrels"] if any(row.is_after_release for row in rows) else []
    header = [
        "team",
        "run",
        "kind",
        "pooled as",
        "manual",
        *late,
        *([OF_FAMILY] if board.judge_family else []),
        *uses,
        "topics",
        "missing",
        *board.measures,
    ]
    for measure in board.measures:
        header += [f"{measure} low", f"{measure} high", f"{measure} tier"]
    header += ["judged in the top 10", "unjudged"]
    header += public_questions(board.track.protocol.parsed.runs)
    seconds = mean_seconds(board)
    if seconds is None:
        return header, [_cells(board, row, has_late=bool(late)) for row in rows]
    means = {pk: f"{mean:.1f}" for pk, mean in seconds.items()}
    cells = [[*_cells(board, row, has_late=bool(late)), means.get(row.run.pk, "")] for row in rows]
    return [*header, "seconds per topic"], cells


def _answers(board: Leaderboard, row: BoardRow) -> dict[str, str]:
    return public_answers(board.track.protocol.parsed.runs, row.run.answers)


def _has_uses(board: Leaderboard) -> bool:
    return bool(board.track.protocol.parsed.runs.uses)


def _cells(board: Leaderboard, row: BoardRow, *, has_late: bool) -> list[str]:
    run, evaluation = row.run, row.evaluation
    words = [one_word(run.team.name), one_word(run.tag), run.kind, row.as_kind]
    words += ["manual" if run.is_manual else "automatic"]
    words += ["yes" if row.is_after_release else "no"] if has_late else []
    words += ["yes" if row.is_of_judge_family else "no"] if board.judge_family else []
    words += [board.track.protocol.parsed.runs.stated_use(run.uses)] if _has_uses(board) else []
    counts = [str(evaluation.n_topics), str(evaluation.n_missing)]
    ends = [part for cell in row.cells for part in (cell.low, cell.high, cell.tier)]
    answers = map(one_word, _answers(board, row).values())
    shares = row.judged_at_10, row.unjudged
    return [*words, *counts, *(cell.text for cell in row.cells), *ends, *shares, *answers]


def _json(board: Leaderboard, rows: Sequence[BoardRow], names: Names) -> str:
    seconds = mean_seconds(board)
    timed = (
        {}
        if seconds is None
        else {row.run.pk: {"seconds_per_topic": seconds.get(row.run.pk)} for row in rows}
    )
    content = provenance(board)
    content["qrels"]["topics"] = board.qrels.n_topics
    if board.qrels.agreement:
        content["qrels"]["agreement"] = board.qrels.agreement
    if board.qrels.supersedes is not None:
        corrected = {"version": board.qrels.supersedes.version, "reason": board.qrels.supersedes_reason}
        content["qrels"]["corrects"] = corrected
    content |= {
        "average": board.average,
        "seed": board.seed,
        "confidence": board.statistics.get("level"),
        "intervals": board.interval_note,
        "measures": board.measures,
        "disqualified": [
            {name: run[name] for name in ("team", "tag", "sha256")}
            for run in map(names.reference, board.statistics.get("disqualified", []))
        ],
        "unassigned": [
            {name: run[name] for name in ("team", "tag", "sha256", "units")}
            for run in map(names.reference, board.statistics.get("unassigned", []))
        ],
        "runs": [_json_row(board, row) | timed.get(row.run.pk, {}) for row in rows],
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _json_row(board: Leaderboard, row: BoardRow) -> dict[str, Any]:
    run, evaluation, rules = row.run, row.evaluation, board.track.protocol.parsed.runs
    values = {
        measure: {
            "value": float(cell.text),
            "low": number_of(cell.low),
            "high": number_of(cell.high),
            "tier": cell.tier,
        }
        for measure, cell in zip(board.measures, row.cells, strict=True)
    }
    return {
        "team": run.team.name,
        "run": run.tag,
        "kind": run.kind,
        "pooled_as": row.as_kind,
        "manual": run.is_manual,
        **({"after_release": True} if row.is_after_release else {}),
        **({"judge_family": row.is_of_judge_family} if board.judge_family else {}),
        **({"uses": rules.stated_use(run.uses)} if rules.uses else {}),
        **({"answers": answers} if (answers := _answers(board, row)) else {}),
        "sha256": evaluation.run_sha256,
        "topics": evaluation.n_topics,
        "missing": evaluation.n_missing,
        "judged_at_10": number_of(row.judged_at_10),
        "unjudged": number_of(row.unjudged),
        "measures": values,
    }


def _latex(board: Leaderboard, rows: Sequence[BoardRow]) -> str:
    rules = board.track.protocol.parsed.runs
    main, questions = rules.kinds[0], public_questions(rules)
    letter = main.name[0].upper()
    has_late = any(row.is_after_release for row in rows)
    late = "A: submitted after the qrels were known. " if has_late else ""
    has_family = any(row.is_of_judge_family for row in rows)
    family = f"F: of the family of the machine that judged, {board.judge_family}. " if has_family else ""
    caption = (
        f"{board.track.name}: qrels {board.qrels}, {plural(board.qrels.n_topics, 'topic')}. "
        f"{letter}: {main.name} run, in parentheses a run pooled as one; M: manual run. "
        f"{late}{family}{explained(questions)}The best values are bold."
    )
    marked = [Column(name, is_mark=True) for name in (letter, "M", *("A" * has_late), *("F" * has_family))]
    words = (Column("Team"), Column("Run"), *answer_columns(questions), *marked)
    measures = (Column(measure, is_number=True, is_measure=True) for measure in board.measures)
    lines = []
    for row in rows:
        mark = CHECK if row.run.kind == main.key else f"({CHECK})"
        marks = [mark if row.as_kind == main.key else "", CHECK if row.run.is_manual else ""]
        marks += [CHECK if row.is_after_release else ""] if has_late else []
        marks += [CHECK if row.is_of_judge_family else ""] if has_family else []
        answers = answer_cells(questions, _answers(board, row))
        names = map(Value, (row.run.team.name, row.run.tag, *answers, *marks))
        lines.append((*names, *(Value(cell.text, cell.is_best) for cell in row.cells)))
    group = Group("", tuple(lines))
    return as_latex(PaperTable("leaderboard", "Leaderboard", caption, (*words, *measures), (group,)))
