"""The effect of the interaction of a team: a measure of its run before and after, by topic and by the time used."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

STEPS = 8  # parts of the time of a session


class SessionChange(NamedTuple):
    """A topic with a session: its seconds, and the values before and after."""

    topic: str
    seconds: float
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


class Means(NamedTuple):
    """Means over some topics; 0.0 if there are none."""

    n_topics: int
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


class InteractionChange(NamedTuple):
    """The change of a run: by session, over the topics with a session, and over all topics."""

    sessions: list[SessionChange]
    interacted: Means
    all_topics: Means

    @property
    def mean_seconds(self) -> float:
        return sum(session.seconds for session in self.sessions) / max(1, len(self.sessions))


def interaction_change(
    before: Mapping[str, float], after: Mapping[str, float], seconds: Mapping[str, float]
) -> InteractionChange:
    """Compare two runs of a team.

    Args:
        before, after: the values of the two runs by topic of the qrels; a topic that only one of them has counts 0 in
            the other.
        seconds: the seconds of the sessions by topic. Topics that are not in the qrels are left out.
    """
    topics = sorted(before.keys() | after.keys())
    values = {topic: (before.get(topic, 0.0), after.get(topic, 0.0)) for topic in topics}
    sessions = [SessionChange(topic, seconds[topic], *values[topic]) for topic in topics if topic in seconds]
    return InteractionChange(
        sessions,
        _means([(session.before, session.after) for session in sessions]),
        _means(list(values.values())),
    )


def _means(pairs: Sequence[tuple[float, float]]) -> Means:
    n = max(1, len(pairs))
    return Means(len(pairs), sum(before for before, _ in pairs) / n, sum(after for _, after in pairs) / n)


class TimePoint(NamedTuple):
    """The sessions that took at most some seconds, and their mean change; None without such a session."""

    seconds: float
    n_sessions: int
    change: float | None


def change_by_time(sessions: Sequence[SessionChange], limit: float) -> list[TimePoint]:
    """The mean change of the sessions that took at most 1/8, 2/8, ... of the time of a session.

    >>> sessions = [SessionChange("a", 10, 0.2, 0.4), SessionChange("b", 80, 0.5, 0.4)]
    >>> [(point.seconds, point.n_sessions) for point in change_by_time(sessions, 80)][::7]
    [(10.0, 1), (80.0, 2)]
    """
    points = []
    for step in range(1, STEPS + 1):
        seconds = limit * step / STEPS
        changes = [session.change for session in sessions if session.seconds <= seconds]
        mean = sum(changes) / len(changes) if changes else None
        points.append(TimePoint(seconds, len(changes), mean))
    return points
