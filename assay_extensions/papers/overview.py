"""The tables of a lab's overview paper: submitted runs, participants, topics by category, and results.

Several tracks are side by side, such as the tasks or the years of a lab. A run that is in several tracks has one row;
runs match by team and tag, whatever their case.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from assay.errors import plural
from assay.measures.scores import step_or_name
from assay.protocols.description import label_title
from assay.protocols.run_answers import public_questions
from assay.protocols.schema import RunKind, RunQuestion
from assay.statistics.leaderboard import STRONGEST, Baselines
from assay.tables.answers import answer_cells, answer_columns, capitalized, explained
from assay.tables.paper import CHECK, TOTAL, Column, Group, PaperTable, Row, Value, number, words
from assay_extensions.papers.facts import PaperRun, PaperTrack

BASELINES = "Baselines"
NO_LABEL = "No label"
MADE = ("automatic", "manual")


def overview_tables(
    tracks: Sequence[PaperTrack],
    *,
    measures: Sequence[str] = (),
    digits: int = 4,
    questions: Sequence[str] = (),
    baselines: Baselines = "all",
) -> list[PaperTable]:
    """All tables of an overview; there are no results until runs are scored.

    Args:
        tracks: in the order of the columns. The last one gives the order of teams and runs in the results.
        measures: to print; if empty, all of the tracks but the shares of judged documents.
        digits: decimals of the results.
        questions: keys of public questions about runs whose answers the results have; if empty, all.
        baselines: that the best run is compared with.
    """
    tables = [runs_table(tracks), participants_table(tracks), topics_table(tracks)]
    if any(run.means for track in tracks for run in track.runs):
        tables.append(results_table(tracks, measures=measures, digits=digits, questions=questions))
        tables.append(gains_table(tracks, measures=measures, digits=digits, baselines=baselines))
    return [table for table in tables if table.groups]


def runs_table(tracks: Sequence[PaperTrack]) -> PaperTable:
    """Submitted runs by team: how they were made, their kind, and the data that they use."""
    used = {run.pooled_kind for track in tracks for run in track.runs}
    named = dict.fromkeys(kind for track in tracks for kind in track.protocol.runs.keys)
    kinds = [kind for kind in named if kind in used] + sorted(used - named.keys())
    columns = [Column("Team")]
    columns += [
        Column(kind.capitalize(), made.capitalize(), is_number=True) for made in MADE for kind in kinds
    ]
    uses = _uses(tracks)
    columns += [Column(word.capitalize(), "Data", is_number=True) for word in uses]
    columns.append(Column("Runs", is_number=True))
    groups = []
    for track in tracks:
        baselines = [run for run in track.runs if run.is_baseline]
        parts = {BASELINES: baselines} if baselines else {}
        for team in teams_of(track.runs):
            parts[team] = [run for run in track.runs if run.team == team and not run.is_baseline]
        rows = [_counts(name, runs, kinds, uses) for name, runs in parts.items()]
        rows.append(_counts(TOTAL, track.runs, kinds, uses))
        groups.append(Group(track.name if len(tracks) > 1 else "", tuple(rows)))
    by_data = ", and by the data that they use" if uses else ""
    return PaperTable(
        "runs",
        "Submitted runs",
        f"Submitted runs by team, by how they were made and their kind{by_data}. "
        "Baselines count as the kind that they are pooled as.",
        tuple(columns),
        tuple(groups),
        "track",
    )


def _uses(tracks: Sequence[PaperTrack]) -> list[str]:
    """Return what runs may state to use, in the order of the protocols."""
    return list(dict.fromkeys(word for track in tracks for word in track.protocol.runs.uses))


def _counts(name: str, runs: Sequence[PaperRun], kinds: Sequence[str], uses: Sequence[str]) -> Row:
    made = Counter((run.made or MADE[0], run.pooled_kind) for run in runs)
    n_using = Counter(run.uses for run in runs)
    counts = [made[how, kind] for how in MADE for kind in kinds] + [n_using[word] for word in uses]
    return (Value(name), *(number(n) for n in [*counts, len(runs)]))


def teams_of(runs: Iterable[PaperRun]) -> list[str]:
    """Teams with a run that is not a baseline."""
    return sorted({run.team for run in runs if not run.is_baseline}, key=str.casefold)


def participants_table(tracks: Sequence[PaperTrack]) -> PaperTable:
    """The teams with their newest organizations, and how many runs each submitted to each track."""
    columns = [Column("Team"), Column("Organization")]
    columns += [Column(track.name, "Runs" if len(tracks) > 1 else "", is_number=True) for track in tracks]
    spelled = {team.casefold(): team for track in tracks for team in teams_of(track.runs)}
    stated = [pair for track in tracks for pair in track.organizations.items() if pair[1]]
    organizations = {team.casefold(): organization for team, organization in stated}
    n_runs = [Counter(run.team.casefold() for run in track.runs if not run.is_baseline) for track in tracks]
    rows = [
        (*words(team, organizations.get(key, "")), *(number(counts[key]) for counts in n_runs))
        for key, team in sorted(spelled.items())
    ]
    rows.append((*words(TOTAL, ""), *(number(counts.total()) for counts in n_runs)))
    caption = "Participants, and the runs that they submitted. The baselines of the organizers do not count."
    table = PaperTable("participants", "Participants", caption, tuple(columns), (Group("", tuple(rows)),))
    return table.with_reason("the team stated no organization")


def topics_table(tracks: Sequence[PaperTrack]) -> PaperTable:
    """Topics by the value of each label: all, and those that the qrels have."""
    parts = (("Topics", False), ("Assessed", True))
    columns = [Column("Category")]
    columns += [
        Column(word, track.name if len(tracks) > 1 else "", is_number=True)
        for track in tracks
        for word, _ in parts
    ]
    groups = [Group("", (_topic_counts("All topics", tracks),))]
    for name in dict.fromkeys(name for track in tracks for name in track.labels):
        values = label_values(tracks, name)
        rows = tuple(_topic_counts(capitalized(value) or NO_LABEL, tracks, name, value) for value in values)
        groups.append(Group(capitalized(label_title(name)), rows))
    caption = "Topics by category. Assessed topics are those of the qrels."
    table = PaperTable("topics", "Topics by category", caption, tuple(columns), tuple(groups), "label")
    return table.with_reason("no topic of the track has the label")


def _topic_counts(title: str, tracks: Sequence[PaperTrack], label: str = "", value: str = "") -> Row:
    """Topics with a value of a label, or all; nothing for a track that does not use the label."""
    cells: list[Value] = []
    for track in tracks:
        topics = list(track.topics.values())
        if label:
            values = [track.label(topic, label) for topic in topics]
            if not any(values):
                cells += words("", "")
                continue
            topics = [topic for topic, own in zip(topics, values, strict=True) if own == value]
        assessed = sum(topic.grades is not None for topic in topics)
        cells += [number(len(topics)), number(assessed)]
    return (Value(title), *cells)


def label_values(tracks: Sequence[PaperTrack], name: str) -> list[str]:
    """The values of a label in order: those of the protocols, then steps such as low and high, then by name."""
    by_track = [{track.label(topic, name) for topic in track.topics.values()} for track in tracks]
    used = {value for values in by_track if values - {""} for value in values}
    named = [value for track in tracks for value in track.protocol.topics.labels.get(name, ())]
    known = [value for value in dict.fromkeys(named) if value in used]
    others = sorted(used - {*known, ""}, key=step_or_name)
    return [*known, *others, *([""] if "" in used else [])]


def default_measures(track: PaperTrack, wanted: Sequence[str]) -> list[str]:
    """The measures of a track that are wanted, or all but the shares of judged documents."""
    chosen = [measure for measure in wanted if measure in track.measures]
    return chosen or [measure for measure in track.measures if not measure.startswith("judged@")]


def asked_of(tracks: Sequence[PaperTrack], wanted: Sequence[str] = ()) -> dict[str, RunQuestion]:
    """The public questions about the runs of some tracks that are wanted, or all, by key."""
    asked = public_questions(*(track.protocol.runs for track in tracks))
    return {key: question for key, question in asked.items() if not wanted or key in wanted}


def results_table(
    tracks: Sequence[PaperTrack],
    *,
    measures: Sequence[str] = (),
    digits: int = 4,
    questions: Sequence[str] = (),
) -> PaperTable:
    """Results by team, baselines first. Each column has a bold best baseline and a bold best participant."""
    shown = [(n, name) for n, track in enumerate(tracks) for name in default_measures(track, measures)]
    # A mark of the main kind says all if the other scored runs are of one kind, or baselines.
    mains = {track.protocol.runs.keys[0] for track in tracks}
    scored = [run for track in tracks for run in track.runs if run.means]
    kinds = {run.kind for run in scored if not run.is_baseline} | mains
    main = tracks[-1].protocol.runs.kinds[0] if len(mains) == 1 and len(kinds) <= 2 else None
    kind = Column(main.name[0].upper(), is_mark=True) if main else Column("Kind")
    data = [Column("Data")] if _uses(tracks) else []
    asked = asked_of(tracks, questions)
    columns = [Column("Run"), *data, *answer_columns(asked), kind, Column("M", is_mark=True)]
    for n, measure in shown:
        over = f"{tracks[n].name} ({plural(tracks[n].n_topics, 'topic')})" if len(tracks) > 1 else ""
        columns.append(Column(measure, over, is_number=True, is_measure=True))
    marks = (
        f"{kind.label}: {CHECK} is a {main.name} run, ({CHECK}) a baseline pooled as one. "
        if main
        else "Kind: the kind of the run. "
    )
    caption = (
        f"Results. {marks}M: {CHECK} is a manual run. {explained(asked)}The best value of the "
        "baselines and the best value of the participants are bold in each column."
    )
    if len(tracks) == 1:
        caption = (
            f"{tracks[0].name}, {plural(tracks[0].n_topics, 'topic')}: {caption[0].lower()}{caption[1:]}"
        )
    by_team: dict[str, list[Row]] = {}
    names = {BASELINES: BASELINES}
    for is_baseline in (True, False):
        merged = [runs for runs in _merged(tracks) if runs.last.is_baseline == is_baseline]
        values = [[number(runs.mean(*column), digits) for column in shown] for runs in merged]
        best = [
            max(column, key=lambda cell: -inf if cell.exact is None else cell.exact).text
            for column in zip(*values, strict=True)
        ]
        for runs, cells in zip(merged, values, strict=True):
            run, team = runs.last, BASELINES if is_baseline else runs.last.team
            names.setdefault(team.casefold(), team)
            marked = [
                cell._replace(is_best=bool(cell.text) and cell.text == highest)
                for cell, highest in zip(cells, best, strict=True)
            ]
            texts = [run.tag, *([run.uses.capitalize()] if data else [])]
            texts += [*answer_cells(asked, run.answers), _kind(run, main)]
            row = (*words(*texts, CHECK if run.made == MADE[1] else ""), *marked)
            by_team.setdefault(BASELINES if is_baseline else team.casefold(), []).append(row)
    groups = tuple(Group(names[team], tuple(rows)) for team, rows in by_team.items())
    table = PaperTable("results", "Results", caption, tuple(columns), groups, "team")
    return table.with_reason("the team did not state it, or the run was not scored there")


def gains_table(
    tracks: Sequence[PaperTrack],
    *,
    measures: Sequence[str] = (),
    digits: int = 4,
    baselines: Baselines = "all",
) -> PaperTable:
    """The best run of a participant and the strongest baseline by each measure, and how far apart they are."""
    words_of = STRONGEST[baselines]
    groups = []
    for track in tracks:
        rows = []
        for measure in default_measures(track, measures):
            scored = sorted(
                (run for run in track.runs if measure in run.means),
                key=lambda run: (-run.means[measure], run.tag),
            )
            compared = (
                run
                for run in scored
                if run.is_baseline and (baselines == "all" or (run.made != MADE[1] and not run.is_oracle))
            )
            baseline = next(compared, None)
            best = next((run for run in scored if not run.is_baseline), None)
            if baseline is None or best is None:
                continue
            low, high = baseline.means[measure], best.means[measure]
            rows.append(
                (
                    *(Value(measure), Value(baseline.tag), number(low, digits)),
                    *(Value(f"{best.team}: {best.tag}"), number(high, digits)),
                    number(100 * (high / low - 1) if low else None, 1),
                )
            )
        if rows:
            groups.append(Group(track.name if len(tracks) > 1 else "", tuple(rows)))
    columns = (
        Column("Measure"),
        *(Column("Run", words_of.capitalize()), Column("Mean", words_of.capitalize(), is_number=True)),
        *(Column("Run", "Best run"), Column("Mean", "Best run", is_number=True)),
        Column("Percent above", is_number=True),
    )
    caption = (
        f"The best run of the participants by each measure, and its distance to the {words_of} in percent."
    )
    table = PaperTable("gains", f"Best run and {words_of}", caption, columns, tuple(groups), "track")
    return table.with_reason("the baseline has the mean 0")


def _kind(run: PaperRun, main: RunKind | None) -> str:
    """The kind of a run, or the mark of the main kind; in parentheses for a baseline that is pooled as one."""
    if main is None:
        return run.kind
    if run.pooled_as:
        return f"({CHECK})" if run.pooled_as == main.key else ""
    return CHECK if run.kind == main.key else ""


class Merged(NamedTuple):
    """A run in each track; None where it was not scored."""

    of_tracks: list[PaperRun | None]

    @property
    def last(self) -> PaperRun:
        """The run as the last track that has it states it."""
        run: PaperRun = next(run for run in reversed(self.of_tracks) if run is not None)
        return run

    def mean(self, n: int, measure: str) -> float | None:
        run = self.of_tracks[n]
        return None if run is None else run.means.get(measure)


def _merged(tracks: Sequence[PaperTrack]) -> list[Merged]:
    """The scored runs, the best first by the first measure of the last track, then of those before it."""
    merged: dict[tuple[str, str], Merged] = {}
    for n, track in enumerate(tracks):
        for run in track.runs:
            if run.means:
                merged.setdefault(run.name, Merged([None] * len(tracks))).of_tracks[n] = run

    def order(runs: Merged) -> tuple[list[float], str]:
        values = [
            -run.means[track.measures[0]] if run is not None and track.measures else 1.0
            for track, run in zip(tracks, runs.of_tracks, strict=True)
        ]
        return values[::-1], runs.last.tag.casefold()

    return sorted(merged.values(), key=order)
