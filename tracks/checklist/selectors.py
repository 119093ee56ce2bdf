"""The checklist of a campaign, and its next step: one rule for every page. Decision: ADR 75."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from django.urls import ResolverMatch, resolve
from django.utils.functional import cached_property

from tracks.checklist.points import PHASES, Campaign, Phase, Point, Problem, campaigns_of, points_of
from tracks.models import Track


class Kind(StrEnum):
    """The kinds of next steps: to repair what blocks the phase, to do a point, or nothing."""

    REPAIR = "repair"
    DO = "do"
    WAIT = "wait"
    DONE = "done"


class Next(NamedTuple):
    """The next step of a campaign. `text` names it; only a step that somebody takes has an address.

    A recommended point can be skipped, alone or with the other `skips`. `meanwhile` has what else can be done, as words
    of a button and an address, and `look` returns what the page of the step remarks.
    """

    kind: Kind
    text: str
    detail: str = ""
    address: str = ""
    is_form: bool = False
    skips: tuple[Point, ...] = ()
    meanwhile: tuple[tuple[str, str], ...] = ()
    look: Callable[[], Iterable[Problem]] = tuple

    @property
    def button(self) -> str:
        """Its words on a button. The ellipsis says that the page behind it asks before anything is done."""
        return (
            self.text
            if self.is_form or self.text.startswith(("See ", "Look ", "Discuss "))
            else f"{self.text}…"
        )

    @property
    def also(self) -> str:
        """The labels of the other points that its phase recommends."""
        return ", ".join(point.label for point in self.skips[1:])

    @property
    def mark(self) -> Point | None:
        """The point that somebody can mark as done, on the page where the step leads."""
        return self.skips[0] if self.skips and self.skips[0].mark else None

    @property
    def skip_keys(self) -> str:
        return " ".join(point.skip for point in self.skips)

    @property
    def label(self) -> str:
        return {Kind.WAIT: "Now", Kind.DONE: "Done"}.get(self.kind, "Next")

    def leads_to(self, match: ResolverMatch | None) -> bool:
        """Return whether a page is where the step leads, so that it needs no button."""
        if match is None or not self.address or self.is_form:
            return False
        target = _target(_path(self.address))
        return (target.view_name, target.kwargs) == (match.view_name, match.kwargs)

    def is_at(self, address: str) -> bool:
        """Return whether a button with this address leads where the step does."""
        return bool(self.address) and _path(self.address) == _path(address)


@dataclass(frozen=True)
class PhasePoints:
    """The points of a phase. A point counts as required unless it is optional or a later phase began without it.

    The problems that take queries do not count: only the home knows them, and every page shows the same state.
    """

    phase: Phase
    points: list[Point]
    n_done: int
    n_required: int
    n_problems: int

    @property
    def has_begun(self) -> bool:
        return any(point.is_done or point.has_begun for point in self.points)

    @property
    def has_next(self) -> bool:
        """Return whether the next step is in this phase, which the home shows unfolded."""
        return any(point.is_next for point in self.points)

    @property
    def size(self) -> int:
        """The length of its bar: a phase with something to look at is not full."""
        return self.n_required + self.n_problems or 1

    @property
    def n_left(self) -> int:
        return self.n_required - self.n_done

    @property
    def is_done(self) -> bool:
        return not (self.n_left or self.n_problems)

    @property
    def state(self) -> str:
        """The number of points left, or of problems, in the same words on every page; empty if nothing is asked for."""
        if self.n_left:
            return f"{self.n_left:,} to do"
        if self.n_problems:
            return f"{self.n_problems:,} to look at"
        return "done" if self.n_required else ""

    @property
    def progress(self) -> float:
        """The number of required points that are done, with the shares of those that are under way."""
        required = (point for point in self.points if not point.is_optional)
        return sum(1 if point.is_done else point.share for point in required)

    @cached_property
    def waiting(self) -> Point | None:
        """The first required point that is not done, and can be the next step."""
        left = (point for point in self.points if not (point.is_done or point.is_optional or point.is_late))
        return next(left, None)


class Skippable(NamedTuple):
    """Something that organizers can do without: a recommended point, or a problem that they accept.

    `word` says what they have done, and `action` is that in the audit log.
    """

    label: str
    word: str
    action: str


@dataclass(frozen=True)
class Checklist:
    """The points of a campaign by phase, and its next step."""

    campaign: Campaign
    phases: list[PhasePoints]
    next: Next

    @property
    def problems(self) -> list[Problem]:
        """Everything to look at, each with the page that solves it, without what the next step says."""
        step, problems = self.next, [problem for phase in self.phases for problem in _problems(phase)]
        return [
            problem
            for problem in problems
            if problem.text != step.detail and not (step.address and problem.address == step.address)
        ]

    def step_at(self, match: ResolverMatch | None, address: str = "") -> Next:
        """The next step as a page shows it: on the page of another point that is recommended too, that point.

        On a page of several points, it is the one whose address, with its query, is that of the page, or the first.
        Where it leads, nothing else is offered, but what answers the remarks of a step that can be marked as done.
        """
        others = (
            _to_do(point, next(phase for phase in self.phases if point in phase.points))
            for point in self.next.skips[1:]
        )
        here = [step for step in (self.next, *others) if step.leads_to(match)]
        step = next((step for step in here if step.address == address), next(iter(here), self.next))
        return step._replace(meanwhile=()) if step.leads_to(match) and not step.mark else step

    @property
    def skippable(self) -> dict[str, Skippable]:
        """Everything that can be skipped or accepted, by key; without looks, not the problems that take queries."""
        points = [point for phase in self.phases for point in phase.points]
        known = {
            problem.accept: Skippable(problem.text, "skipped", "checklist.accepted")
            for point in points
            for problem in (*point.problems, *point.accepted)
            if problem.accept
        }
        for point in points:
            if point.skip:
                known.setdefault(point.skip, Skippable(point.label, "skipped", "checklist.skipped"))
            if point.mark:
                word = f"marked as {point.marked}"
                known.setdefault(point.mark, Skippable(point.label, word, "checklist.marked"))
        return known

    def with_looks(self) -> "Checklist":
        """The checklist with the problems that take queries, and without those that the next step solves."""
        phases = [
            replace(
                phase,
                points=[
                    _without_accepted(
                        point._replace(problems=(*self._open(point), *point.look()), look=tuple),
                        self.campaign.track,
                    )
                    for point in phase.points
                ],
            )
            for phase in self.phases
        ]
        return replace(self, phases=phases)

    def _open(self, point: Point) -> tuple[Problem, ...]:
        is_solved = point.is_next and self.next.kind == Kind.DO
        return tuple(problem for problem in point.problems if problem.action or not is_solved)


def _path(address: str) -> str:
    return address.partition("?")[0].partition("#")[0]


@lru_cache(maxsize=1000)
def _target(path: str) -> ResolverMatch:
    """The page at a path. Django takes 0.2 ms to find it, and each page of a track asks for that of its next step."""
    return resolve(path)


def checklist(track: Track) -> Checklist:
    return _checklist(Campaign(track))


def next_steps(tracks: Sequence[Track]) -> list[Next]:
    """The next step of each track. The numbers of all are one query, but some points need their own."""
    return [_checklist(campaign).next for campaign in campaigns_of(tracks)]


def _checklist(campaign: Campaign) -> Checklist:
    track = campaign.track
    phases: list[PhasePoints] = []
    begun: Phase | None = None  # the last phase that has
    for phase in reversed(PHASES):
        points = [_asked_for(point, phase, begun, track) for point in points_of(campaign, phase)]
        required = [point for point in points if not point.is_optional]
        n_done = sum(point.is_done for point in required)
        n_problems = sum(len(point.problems) for point in points)
        phases.insert(0, PhasePoints(phase, points, n_done, len(required), n_problems))
        begun = begun or (phase if phases[0].has_begun else None)
    step = _next(phases)
    for listed in phases:
        listed.points[:] = [point._replace(is_next=_is_of(step, point)) for point in listed.points]
    return Checklist(campaign, phases, step)


def _asked_for(point: Point, phase: Phase, begun: Phase | None, track: Track) -> Point:
    """The point, optional if it was skipped, or if a campaign has gone on without it."""
    if not (point.is_done or point.is_pressing) and {point.skip, point.mark} & {*track.skipped}:
        if point.mark not in track.skipped:
            return point._replace(is_optional=True, is_skipped=True, state="skipped", problems=(), look=tuple)
        return point._replace(is_optional=True, is_marked=True, state=point.marked, problems=(), look=tuple)
    point = _without_accepted(point, track)
    needed_by = PHASES.index(point.needed_by) if point.needed_by else PHASES.index(phase) + 1
    if point.is_done or point.is_pressing or begun is None or PHASES.index(begun) < needed_by:
        return point
    is_open = track.status == Track.Status.OPEN and PHASES.index(begun) < PHASES.index(Phase.JUDGING)
    if point.lasts and is_open and not point.is_optional:
        return point._replace(is_late=True)
    return point._replace(is_optional=True)


def _without_accepted(point: Point, track: Track) -> Point:
    """The point, without the problems that the organizers have accepted."""
    accepted = tuple(problem for problem in point.problems if problem.accept in track.skipped)
    problems = tuple(problem for problem in point.problems if problem not in accepted)
    return point._replace(problems=problems, accepted=(*point.accepted, *accepted)) if accepted else point


def _next(phases: list[PhasePoints]) -> Next:
    open_points = [phase.waiting for phase in phases]
    current = next((n for n, point in enumerate(open_points) if point), len(phases) - 1)
    for phase in phases[: current + 1]:
        for problem in _problems(phase):
            if problem.action:
                return Next(Kind.REPAIR, problem.action, problem.text, problem.address, problem.is_form)
    required = [
        point
        for phase in phases
        for point in phase.points
        if not (point.is_done or point.is_optional or point.is_late)
    ]
    for point in required:
        if point.is_possible and not point.waits:
            return _to_do(point, next(phase for phase in phases if point in phase.points))
    if not required:
        return _last(phases[-1])
    waiting = [point for point in required if point.waits]
    if not waiting:
        return Next(Kind.WAIT, required[0].state)
    text, *others = dict.fromkeys(point.waits for point in waiting)
    meanwhile = tuple(dict.fromkeys(each for point in waiting for each in point.meanwhile))
    return Next(Kind.WAIT, text, " ".join([*others, waiting[0].detail]).strip(), meanwhile=meanwhile)


def _to_do(point: Point, phase: PhasePoints) -> Next:
    """The step to do a point. A recommended one can be skipped with the others that its phase recommends."""
    skips: tuple[Point, ...] = ()
    detail = point.detail
    if point.skip:
        others = [
            other
            for other in phase.points
            if other.skip
            and other != point
            and other.is_possible
            and not (other.is_done or other.is_optional or other.waits)
        ]
        skips = (point, *others)
        detail = f"Recommended. {detail}"
    return Next(
        Kind.DO, point.action, detail, point.address, point.is_form, skips, point.meanwhile, point.look
    )


def _last(results: PhasePoints) -> Next:
    """The first point with an action after the last one that is done, when nothing is required any more."""
    done = [place for place, point in enumerate(results.points) if point.is_done]
    for point in results.points[max(done, default=-1) + 1 :]:
        if point.action and point.is_possible and not (point.waits or point.is_skipped or point.is_marked):
            skips = (point,) if point.skip else ()
            return Next(Kind.DO, point.action, point.detail, point.address, point.is_form, skips)
    return Next(Kind.DONE, "The campaign is complete.")


def _is_of(step: Next, point: Point) -> bool:
    """Return whether a step is that of a point, or repairs it."""
    if point.is_done and step.kind == Kind.DO:
        return False
    if step.kind == Kind.WAIT and point.waits == step.text:
        return True
    repairs = [(problem.action, problem.text) for problem in point.problems if problem.action]
    is_same = (step.text, step.address) == (point.action, point.address)
    return (is_same and point.detail in step.detail) or (step.text, step.detail) in repairs


def _problems(phase: PhasePoints) -> list[Problem]:
    return [
        problem._replace(address=problem.address or point.address)
        for point in phase.points
        for problem in point.problems
    ]
