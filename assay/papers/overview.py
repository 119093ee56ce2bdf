"""The tables of a lab's overview paper: submitted runs, participants, topics by category, and results.

Several tracks are side by side, such as the tasks or the years of a lab. A run that is in several tracks has one row;
runs match by team and tag, whatever their case.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from assay.evaluation.classes import step_or_name
from assay.papers.facts import RunFacts, TrackFacts
from assay.papers.tables import CHECK, Column, Group, PaperTable, Row, Value, number, words
from assay.protocols.schema import RunKind

BASELINES = "Baselines"
TOTAL = "Total"
NO_LABEL = "No label"
MADE = ("automatic", "manual")


def overview_tables(
    tracks: Sequence[TrackFacts], *, measures: Sequence[str] = (), digits: int = 4
) -> list[PaperTable]:
    """All tables of an overview; there are no results until runs are scored.

    Parameters
    ----------
    tracks : in the order of the columns. The last one gives the order of teams and runs in the results.
    measures : to print; if empty, all of the tracks but the shares of judged documents.
    digits : decimals of the results.
    """
    tables = [runs_table(tracks), participants_table(tracks), topics_table(tracks)]
    if any(run.means for track in tracks for run in track.runs):
        tables.append(results_table(tracks, measures=measures, digits=digits))
    return tables


def runs_table(tracks: Sequence[TrackFacts]) -> PaperTable:
    """Submitted runs by team: how they were made, their kind, and the data that they use."""
    kinds = _kinds(tracks)
    columns = [Column("Team")]
    columns += [
        Column(kind.capitalize(), made.capitalize(), is_number=True) for made in MADE for kind in kinds
    ]
    uses = _uses(tracks)
    columns += [Column(word.capitalize(), "Data", is_number=True) for word in uses]
    columns.append(Column("Runs", is_number=True))
    groups = tuple(
        Group(track.name if len(tracks) > 1 else "", tuple(_run_rows(track, kinds, uses))) for track in tracks
    )
    by_data = ", and by the data that they use" if uses else ""
    return PaperTable(
        "runs",
        "Submitted runs",
        f"Submitted runs by team, by how they were made and their kind{by_data}. "
        "Baselines count as the kind as which they are pooled.",
        tuple(columns),
        groups,
        "track",
    )


def _kinds(tracks: Sequence[TrackFacts]) -> list[str]:
    """The kinds of the runs: in the order of the protocols, then any other."""
    used = {_pooled_kind(run) for track in tracks for run in track.runs}
    named = dict.fromkeys(kind for track in tracks for kind in track.protocol.runs.keys)
    return [kind for kind in named if kind in used] + sorted(used - named.keys())


def _uses(tracks: Sequence[TrackFacts]) -> list[str]:
    """What runs may state to use, in the order of the protocols."""
    return list(dict.fromkeys(word for track in tracks for word in track.protocol.runs.uses))


def _pooled_kind(run: RunFacts) -> str:
    return run.pooled_as or run.kind


def _run_rows(track: TrackFacts, kinds: Sequence[str], uses: Sequence[str]) -> Iterator[Row]:
    baselines = [run for run in track.runs if run.is_baseline]
    if baselines:
        yield _counts(BASELINES, baselines, kinds, uses)
    for team in _teams(track.runs):
        yield _counts(
            team, [run for run in track.runs if run.team == team and not run.is_baseline], kinds, uses
        )
    yield _counts(TOTAL, track.runs, kinds, uses)


def _counts(name: str, runs: Sequence[RunFacts], kinds: Sequence[str], uses: Sequence[str]) -> Row:
    made = Counter((run.made or MADE[0], _pooled_kind(run)) for run in runs)
    n_using = Counter(run.uses for run in runs)
    counts = [made[how, kind] for how in MADE for kind in kinds] + [n_using[word] for word in uses]
    return (Value(name), *(number(n) for n in [*counts, len(runs)]))


def _teams(runs: Iterable[RunFacts]) -> list[str]:
    """Teams with a run that is not a baseline."""
    return sorted({run.team for run in runs if not run.is_baseline}, key=str.casefold)


def participants_table(tracks: Sequence[TrackFacts]) -> PaperTable:
    """The teams with their organizations, and how many runs each submitted to each track."""
    columns = [Column("Team"), Column("Organization")]
    columns += [Column(track.name, "Runs" if len(tracks) > 1 else "", is_number=True) for track in tracks]
    spelled = {team.casefold(): team for track in tracks for team in _teams(track.runs)}
    rows = []
    for key, team in sorted(spelled.items()):
        counts = [sum(_is_of(run, key) for run in track.runs) for track in tracks]
        rows.append((*words(team, _organization(tracks, key)), *map(number, counts)))
    totals = [sum(not run.is_baseline for run in track.runs) for track in tracks]
    rows.append((*words(TOTAL, ""), *map(number, totals)))
    caption = "Participants, and the runs that they submitted. The baselines of the organizers do not count."
    return PaperTable("participants", "Participants", caption, tuple(columns), (Group("", tuple(rows)),))


def _is_of(run: RunFacts, team: str) -> bool:
    return run.team.casefold() == team and not run.is_baseline


def _organization(tracks: Sequence[TrackFacts], team: str) -> str:
    """The newest organization of a team."""
    stated = [
        organization
        for track in tracks
        for name, organization in track.organizations.items()
        if name.casefold() == team and organization
    ]
    return stated[-1] if stated else ""


def topics_table(tracks: Sequence[TrackFacts]) -> PaperTable:
    """Topics by the value of each label: all, and those that the qrels have."""
    parts = (("Topics", False), ("Assessed", True))
    columns = [Column("Category")]
    columns += [
        Column(word, track.name if len(tracks) > 1 else "", is_number=True)
        for track in tracks
        for word, _ in parts
    ]
    groups = [Group("", (_topic_counts("All topics", tracks),))]
    for name in _labels(tracks):
        values = label_values(tracks, name)
        rows = tuple(_topic_counts(value.capitalize() or NO_LABEL, tracks, name, value) for value in values)
        groups.append(Group(name if name.isupper() else name[:1].upper() + name[1:], rows))
    caption = "Topics by category. Assessed topics are those of the qrels."
    return PaperTable("topics", "Topics by category", caption, tuple(columns), tuple(groups), "label")


def _topic_counts(title: str, tracks: Sequence[TrackFacts], label: str = "", value: str = "") -> Row:
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
        assessed = sum(topic.judged is not None for topic in topics)
        cells += [number(len(topics)), number(assessed)]
    return (Value(title), *cells)


def _labels(tracks: Sequence[TrackFacts]) -> list[str]:
    return list(dict.fromkeys(name for track in tracks for name in track.labels))


def label_values(tracks: Sequence[TrackFacts], name: str) -> list[str]:
    """The values of a label in order: those of the protocols, then steps such as low and high, then by name."""
    by_track = [{track.label(topic, name) for topic in track.topics.values()} for track in tracks]
    used = {value for values in by_track if values - {""} for value in values}
    named = [value for track in tracks for value in track.protocol.topics.labels.get(name, ())]
    known = [value for value in dict.fromkeys(named) if value in used]
    others = sorted(used - {*known, ""}, key=step_or_name)
    return [*known, *others, *([""] if "" in used else [])]


def results_table(
    tracks: Sequence[TrackFacts], *, measures: Sequence[str] = (), digits: int = 4
) -> PaperTable:
    """Results by team, baselines first. Each column has a bold best baseline and a bold best participant."""
    shown = [(track, measure) for track in tracks for measure in default_measures(track, measures)]
    scored = [run for track in tracks for run in track.runs if run.means]
    main = _main(tracks, scored)
    kind = Column(main.name[0].upper(), is_mark=True) if main else Column("Kind")
    data = [Column("Data")] if _uses(tracks) else []
    columns = [Column("Run"), *data, kind, Column("M", is_mark=True)]
    columns += [
        Column(measure, _over(track, n_tracks=len(tracks)), is_number=True, is_measure=True)
        for track, measure in shown
    ]
    groups = _result_groups(tracks, shown, digits=digits, main=main.key if main else "")
    marks = (
        f"{kind.label}: {CHECK} is a {main.name} run, ({CHECK}) a baseline pooled as one. "
        if main
        else "Kind: the kind of the run. "
    )
    caption = (
        f"Results. {marks}M: {CHECK} is a manual run. The best value of the baselines and the best value of the "
        "participants are bold in each column."
    )
    if len(tracks) == 1:
        caption = f"{tracks[0].name}, {tracks[0].n_topics} topics: {caption[0].lower()}{caption[1:]}"
    return PaperTable("results", "Results", caption, tuple(columns), groups, "team")


def _main(tracks: Sequence[TrackFacts], scored: Iterable[RunFacts]) -> RunKind | None:
    """The main kind of run, if a mark of its runs says all: the others are of one kind, or baselines."""
    mains = {track.protocol.runs.keys[0] for track in tracks}
    kinds = {run.kind for run in scored if not run.is_baseline} | mains
    return tracks[-1].protocol.runs.kinds[0] if len(mains) == 1 and len(kinds) <= 2 else None


def _over(track: TrackFacts, *, n_tracks: int) -> str:
    return f"{track.name} ({track.n_topics} topics)" if n_tracks > 1 else ""


def default_measures(track: TrackFacts, wanted: Sequence[str]) -> list[str]:
    """The measures of a track that are wanted, or all but the shares of judged documents."""
    chosen = [measure for measure in wanted if measure in track.measures]
    return chosen or [measure for measure in track.measures if not measure.startswith("judged@")]


Shown = Sequence[tuple[TrackFacts, str]]
Merged = list[RunFacts | None]  # a run in each track


def _result_groups(
    tracks: Sequence[TrackFacts], shown: Shown, *, digits: int, main: str
) -> tuple[Group, ...]:
    merged = sorted(_merged(tracks), key=lambda runs: _order(tracks, runs))
    baselines = [runs for runs in merged if _any(runs).is_baseline]
    others = [runs for runs in merged if not _any(runs).is_baseline]
    by_team: dict[str, list[Merged]] = {}
    for runs in others:
        by_team.setdefault(_any(runs).team.casefold(), []).append(runs)
    best_baseline, best = _best(baselines, tracks, shown, digits), _best(others, tracks, shown, digits)
    groups = [(BASELINES, baselines, best_baseline)] if baselines else []
    groups += [(_any(of_team[0]).team, of_team, best) for of_team in by_team.values()]
    return tuple(
        Group(
            title,
            tuple(_result_row(runs, tracks, shown, highest, digits=digits, main=main) for runs in of_group),
        )
        for title, of_group, highest in groups
    )


def _merged(tracks: Sequence[TrackFacts]) -> list[Merged]:
    """Each scored run with what it is in every track."""
    merged: dict[tuple[str, str], Merged] = {}
    for n, track in enumerate(tracks):
        for run in track.runs:
            if run.means:
                merged.setdefault(run.name, [None] * len(tracks))[n] = run
    return list(merged.values())


def _any(runs: Merged) -> RunFacts:
    """The run as the last track that has it states it."""
    return next(run for run in reversed(runs) if run is not None)


def _order(tracks: Sequence[TrackFacts], runs: Merged) -> tuple[tuple[float, ...], str]:
    """The best first by the first measure of the last track, then of those before it."""
    values = [
        -run.means[track.measures[0]] if run is not None and track.measures else 1.0
        for track, run in zip(tracks, runs, strict=True)
    ]
    return tuple(reversed(values)), _any(runs).tag.casefold()


def _value(runs: Merged, tracks: Sequence[TrackFacts], column: tuple[TrackFacts, str]) -> float | None:
    run = runs[next(n for n, track in enumerate(tracks) if track is column[0])]
    return None if run is None else run.means.get(column[1])


def _best(merged: Sequence[Merged], tracks: Sequence[TrackFacts], shown: Shown, digits: int) -> list[str]:
    """The best value of each column, as printed; empty where there is none."""
    best = []
    for column in shown:
        values = [value for runs in merged if (value := _value(runs, tracks, column)) is not None]
        best.append(number(max(values), digits).text if values else "")
    return best


def _result_row(
    runs: Merged,
    tracks: Sequence[TrackFacts],
    shown: Shown,
    best: Sequence[str],
    *,
    digits: int,
    main: str,
) -> Row:
    run = _any(runs)
    cells = []
    for column, highest in zip(shown, best, strict=True):
        cell = number(_value(runs, tracks, column), digits)
        cells.append(cell._replace(is_best=bool(cell.text) and cell.text == highest))
    kind = _mark(run, main) if main else run.kind
    data = [run.uses.capitalize()] if _uses(tracks) else []
    return (*words(run.tag, *data, kind, CHECK if run.made == MADE[1] else ""), *cells)


def _mark(run: RunFacts, main: str) -> str:
    if run.pooled_as:
        return f"({CHECK})" if run.pooled_as == main else ""
    return CHECK if run.kind == main else ""
