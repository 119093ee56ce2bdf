"""The effect of the interaction on the runs of a leaderboard."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from django.http import Http404
from django.shortcuts import get_object_or_404

from accounts.access import AnyUser
from assay import plots
from assay.measures.scores import ALL
from assay.protocols.measures import parse_measure
from assay.protocols.schema import InteractionRules
from assay.statistics.interaction import InteractionChange, TimePoint, change_by_time, interaction_change
from assay.tables import one_word, shown, tsv_lines
from participation.interaction.selectors import seconds_by_topic
from pooling.runs.names import names_for
from scoring.evaluations.selectors import evaluations_for, named, with_names
from scoring.models import Evaluation, Leaderboard, Score
from scoring.selectors import LeaderboardPage, interaction_rules, leaderboards_for, shared_page

HEADER = ("team", "topic", "seconds", "before", "after", "change")


class TeamChange(NamedTuple):
    """The change of a team, from its main run to the run after the interaction."""

    before: Evaluation
    after: Evaluation
    change: InteractionChange
    by_time: list[TimePoint]

    @property
    def team(self) -> str:
        return self.after.run.team.name


@dataclass(frozen=True, kw_only=True)
class InteractionReport(LeaderboardPage):
    """The teams with both runs that a user may open."""

    rules: InteractionRules
    measure_title: str
    main_kind: str
    rows: list[TeamChange]
    times: list[float]
    plot: plots.Plot | None


def board_and_rules(user: AnyUser, board_id: int) -> tuple[Leaderboard, InteractionRules]:
    """A finished leaderboard that a user may see, with the rules of its interaction.

    Raises:
        Http404: There is none for the user, or it has no interaction.
    """
    board = get_object_or_404(leaderboards_for(user), pk=board_id, status=Leaderboard.Status.READY)
    rules = interaction_rules(board)
    if rules is None:
        raise Http404
    return board, rules


def interaction_report(user: AnyUser, board: Leaderboard, rules: InteractionRules) -> InteractionReport:
    """The change of the protocol's measure, by team. The number of queries does not depend on the runs."""
    main_kind = board.track.protocol.parsed.runs.keys[0]
    rows = team_changes(user, board, rules, main_kind)
    plot = None
    if any(row.change.sessions for row in rows):
        plot = plots.lines(
            f"{board.track.slug}-interaction",
            f"{board.track.name}: change of {rules.measure} by the time used",
            [f"{point.seconds:g}" for point in rows[0].by_time],
            [(row.team, [point.change for point in row.by_time]) for row in rows],
            across="Seconds used, at most",
            up=f"Change of {rules.measure}",
        )
    shared = shared_page(user, board, rules.measure)
    return InteractionReport(
        **vars(shared),
        rules=rules,
        measure_title=parse_measure(shared.charted).title,
        main_kind=main_kind,
        rows=rows,
        times=[point.seconds for point in rows[0].by_time] if rows else [],
        plot=plot,
    )


def team_changes(
    user: AnyUser, board: Leaderboard, rules: InteractionRules, main_kind: str
) -> list[TeamChange]:
    """The teams with a main run and one after the interaction, by name."""
    kinds = (main_kind, rules.run_kind)
    evaluations = with_names(evaluations_for(user).filter(leaderboard=board, run__kind__in=kinds))
    by_team: dict[int, dict[str, Evaluation]] = {}
    for evaluation in named(names_for(user, board.track), evaluations.order_by("run__priority")):
        by_team.setdefault(evaluation.run.team_id, {}).setdefault(evaluation.run.kind, evaluation)
    pairs = [
        (by_kind[main_kind], by_kind[rules.run_kind])
        for by_kind in by_team.values()
        if len(by_kind) == len(kinds)
    ]
    values: defaultdict[int, dict[str, float]] = defaultdict(dict)
    scores = Score.objects.filter(evaluation__in=[evaluation.pk for pair in pairs for evaluation in pair])
    of_topics = scores.filter(measure=rules.measure).exclude(topic=ALL)
    for pk, topic, value in of_topics.values_list("evaluation_id", "topic", "value"):
        values[pk][topic] = value
    seconds = seconds_by_topic([before.run.team_id for before, _ in pairs], rules.seconds_per_topic)
    rows = []
    for before, after in pairs:
        held = seconds.get(before.run.team_id, {})
        change = interaction_change(values[before.pk], values[after.pk], held)
        by_time = change_by_time(change.sessions, rules.seconds_per_topic)
        rows.append(TeamChange(before, after, change, by_time))
    return sorted(rows, key=lambda row: row.team)


def interaction_file(user: AnyUser, board: Leaderboard, rules: InteractionRules) -> Iterator[str]:
    """A line for each session, then the means of each team over these and over all topics."""
    main_kind = board.track.protocol.parsed.runs.keys[0]
    rows = team_changes(user, board, rules, main_kind)
    return tsv_lines(HEADER, (line for row in rows for line in _lines(row)))


def _lines(row: TeamChange) -> Iterator[tuple[str, ...]]:
    team, change = one_word(row.team), row.change
    for session in change.sessions:
        values = (shown(session.before), shown(session.after), shown(session.change))
        yield team, session.topic, f"{session.seconds:.1f}", *values
    for name, means in (("interacted", change.interacted), (ALL, change.all_topics)):
        seconds = f"{change.mean_seconds:.1f}" if name == "interacted" else ""
        yield team, name, seconds, shown(means.before), shown(means.after), shown(means.change)
