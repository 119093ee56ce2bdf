"""Runs: who sees which, and what their pages show."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO, NamedTuple, cast

from django.conf import settings
from django.db.models import Case, F, Func, IntegerField, Q, QuerySet, Value, When, prefetch_related_objects
from django.http import Http404
from django.urls import get_script_prefix
from django.utils.safestring import SafeString

from accounts.access import AnyUser, oversees
from accounts.models import User
from assay.errors import Refused
from assay.formats.compression import Limits, unpack
from assay.formats.reports import Report
from assay.formats.runs.examples import FormHelp, accepted_forms, rules_of
from assay.formats.runs.guide import guide, run_schema
from assay.formats.runs.metadata import header
from assay.formats.runs.rules import LineForm, copies_narratives, forms_of
from assay.formats.runs.text import Lines, with_header
from assay.html.sanitize import plain
from assay.protocols.run_answers import header_of_run
from assay.protocols.schema import EVERY_RANK, Phase, RunRules
from participation.models import Team
from participation.teams.selectors import (
    RunCounts,
    disk_limit,
    may_submit_for,
    own_teams,
    run_counts,
    teams_of,
)
from pooling.models import Pool, PoolRun, Run, RunChange
from pooling.runs.answers import ChosenAnswers
from pooling.runs.units import FORMULAS, has_formulas, has_posts, has_units
from tracks.assessors.selectors import is_assessor
from tracks.deadline_acceptance import (
    Acceptance,
    acceptance_of,
    acceptances_for,
    day_of,
    is_accepting,
    until_closing,
    why_closed,
)
from tracks.markdown import plain_html
from tracks.models import Track
from tracks.topics.selectors import hide_fields, topics_of
from tracks.tracks.selectors import tracks_for
from web import times
from web.links import address_of
from web.pages import counted, size
from web.statements import Prepared, is_among

STATE_ORDER = Case(
    When(status=Run.Status.SUBMITTED, then=Value(0)),
    When(status=Run.Status.DISQUALIFIED, then=Value(1)),
    default=Value(2),
)


def n_of_kinds(team: Team) -> Counter[str]:
    """Count the runs of each kind that count toward the limits of a team. One query."""
    kept = team.runs.exclude(status=Run.Status.WITHDRAWN).order_by()
    return Counter(kept.values_list("kind", flat=True))


class OwedRuns(NamedTuple):
    """Runs of a kind that a team owes and does not have."""

    kind: str
    name: str
    n: int

    def __str__(self) -> str:
        return self.name if self.n == 1 else f"{self.n} {self.name}"


class Owing(NamedTuple):
    """The runs and the titles of the documents that a team owes by the protocol, and does not have."""

    team: Team
    runs: list[OwedRuns]
    documents: list[str]

    @property
    def missing(self) -> str:
        """The missing runs in words, such as `phase 2, baseline`; empty if nothing."""
        return ", ".join([*map(str, self.runs), *self.documents])


def has_obligations(rules: RunRules) -> bool:
    """Return whether teams owe runs or documents."""
    return bool(rules.documents) or any(kind.min_per_team for kind in rules.kinds)


def owing_of(team: Team, rules: RunRules, n_of: Mapping[str, int]) -> Owing:
    """The runs that a team lacks, in the order of the protocol. `n_of` are its runs by kind."""
    lacking = (
        OwedRuns(kind.key, kind.name, kind.min_per_team - n_of.get(kind.key, 0)) for kind in rules.kinds
    )
    files = {file.word for file in team.files.all()} if rules.documents else set()
    documents = [
        title for word, title in rules.documents.items() if not team.documents.get(word) and word not in files
    ]
    return Owing(team, [owed for owed in lacking if owed.n > 0], documents)


def owing_teams(track: Track) -> list[Owing]:
    """The teams that lack something that they owe, by name. Three queries; none if the protocol asks for nothing."""
    rules = track.protocol.parsed.runs
    if not has_obligations(rules):
        return []
    n_of: defaultdict[int, Counter[str]] = defaultdict(Counter)
    kept = Run.objects.filter(track=track).exclude(status=Run.Status.WITHDRAWN).order_by()
    for team_id, kind in kept.values_list("team_id", "kind"):
        n_of[team_id][kind] += 1
    teams_by_name = track.teams.order_by("name")
    if rules.documents:
        teams_by_name = teams_by_name.prefetch_related("files")
    teams = (owing_of(team, rules, n_of[team.pk]) for team in teams_by_name)
    return [owed for owed in teams if owed.missing]


class RunFilter(NamedTuple):
    """The team, the kind and the words of the runs on a page, from its address; None and empty for all."""

    team: int | None = None
    kind: str = ""
    search: str = ""  # for words in the tag or the name of the team

    def accepts(self, run: Run) -> bool:
        text = f"{run.tag} {run.team.name}".casefold()
        has_words = all(word in text for word in self.search.casefold().split())
        return has_words and self.team in {None, run.team_id} and self.kind in {"", run.kind}


class TeamLine(NamedTuple):
    """A team with its submitted runs and what it owes, in words."""

    team: Team
    runs: str
    missing: str


@dataclass(frozen=True)
class RunsPage:
    """The runs of a track that a user may see, and the teams for which they can submit.

    `owing` are the teams that lack runs and can be reminded by e-mail, and `lines` are all teams, for organizers.
    """

    track: Track
    runs: list[tuple[Run, list[tuple[str, str]]]]  # each with its columns of answers
    has_uses: bool  # whether teams state what a run uses
    teams: list[Team]  # for which the user may submit
    states: list[Acceptance]
    is_accepting_runs: bool
    why_closed: str
    owing: list[Owing]
    lines: list[TeamLine]
    teams_note: str
    has_obligations: bool
    kinds: list[tuple[str, str]]
    filter: RunFilter
    counts: RunCounts
    runs_note: str
    n_kept: int  # of all teams, not withdrawn; for organizers
    n_warned: int  # of these
    chosen: ChosenAnswers


def runs_page(user: AnyUser, track: Track, chosen: ChosenAnswers, by: RunFilter | None = None) -> RunsPage:
    """The runs page of a track for a user, with the columns and filters of answers."""
    by = by or RunFilter()
    of_kinds, rules = acceptances_for(user, track), track.protocol.parsed.runs
    is_organizer = oversees(user, track.pk)
    owing = owing_teams(track) if is_organizer else []
    every = _OF_TRACK(track=track.pk) if is_organizer else list(runs_of(user, track))
    all_teams = list(track.teams.order_by("name")) if is_organizer else []
    for run in every:
        run.track = track
    kept = [run for run in every if run.status != Run.Status.WITHDRAWN]
    kinds = kinds_by_team((run for run in every if run.is_submitted), all_teams)
    counts, missing = run_counts(kinds, rules), {owed.team.pk: owed.missing for owed in owing}
    lines = [
        TeamLine(team, run_counts([of_team], rules).words, missing.get(team.pk, ""))
        for team, of_team in zip(all_teams, kinds, strict=False)  # others see the runs of their own teams
    ]
    shown = [run for run in every if by.accepts(run)]
    return RunsPage(
        track=track,
        runs=[(run, chosen.words(run.answers)) for run in shown if chosen.accept(run.answers)],
        has_uses=bool(track.protocol.parsed.runs.uses),
        teams=all_teams
        if isinstance(user, User) and user.organizes(track.pk)
        else list(teams_of(user, track)),
        states=of_kinds,
        is_accepting_runs=is_accepting(of_kinds),
        why_closed=why_closed(of_kinds),
        owing=owing if settings.SENDS_MAIL else [],
        lines=lines,
        teams_note=_note_of(lines, counts, has_obligations(rules)),
        has_obligations=has_obligations(rules),
        kinds=[(kind.key, kind.name) for kind in rules.kinds],
        filter=by,
        counts=counts,
        runs_note="without baselines and withdrawn ones" if counts.baselines else "without withdrawn ones",
        n_kept=len(kept) if lines else 0,
        n_warned=sum(bool(run.n_warnings) for run in kept),  # type: ignore[attr-defined]
        chosen=chosen,
    )


def kinds_by_team(runs: Iterable[Run], teams: Iterable[Team]) -> list[list[str]]:
    """The kinds of the runs of each team."""
    kinds: dict[int, list[str]] = {team.pk: [] for team in teams}
    for run in runs:
        kinds.setdefault(run.team_id, []).append(run.kind)
    return list(kinds.values())


def _note_of(lines: Sequence[TeamLine], counts: RunCounts, owes: bool) -> str:
    """The state of the teams in a few words."""
    if owes:
        n = sum(bool(line.missing) for line in lines)
        return f"{n} of them {'owes' if n == 1 else 'owe'} something" if n else "all complete"
    return f"{counts.teams - counts.submitting} without runs"


class Problem(NamedTuple):
    """A refusal that is not about a line of the file. `field` is the id of the field of the form that it is about."""

    message: str
    label: str = ""  # of the field
    field: str = ""


@dataclass(frozen=True)
class Answer:
    """The outcome for one file of a submission: accepted as `run`, only checked, or refused with its report.

    `row` is the row of the form. `earlier` is a run of the team that the file can replace.
    """

    row: str
    name: str
    run: Run | None = None
    report: Report | None = None
    is_only_checked: bool = False
    problems: Sequence[Problem] = ()
    earlier: Run | None = None

    @property
    def refusal(self) -> str:
        return "would not be accepted" if self.is_only_checked else "was not accepted"


class Today(NamedTuple):
    """The runs of a phase that a team submitted today, in the time zone of the track, also withdrawn ones.

    Runs that organizers submitted do not count.
    """

    phase: Phase
    n: int
    most: int
    next_at: datetime  # when the next day begins
    zone: str

    @property
    def left(self) -> int:
        return max(0, self.most - self.n)

    def __str__(self) -> str:
        """Such as `Training: 2 of 5 runs today, next day from 2026-05-02 00:00 AoE (2026-05-02 12:00 UTC)`."""
        when = times.in_words(self.next_at, self.zone)
        return f"{self.phase.name}: {self.n} of {counted(self.most, 'run')} today, next day from {when}"


def today_of(track: Track, teams: Collection[Team], at: datetime) -> dict[int, list[Today]]:
    """The state of each daily limit of some teams, by id, on the day of an instant. Two queries, or none."""
    rules = track.protocol.parsed.runs
    limited = [phase for phase in rules.phases if phase.max_per_day is not None]
    if not limited:
        return {team.pk: [] for team in teams}
    start, end, zone = day_of(track, at)
    runs = Run.objects.filter(team__in=teams, submitted_at__gte=start, submitted_at__lt=end)
    organizers = track.organizers.filter(is_chair=False).values("user")
    kinds = runs.exclude(submitted_by__in=organizers).order_by().values_list("team", "kind")
    n_of = Counter((team_id, rules.phase_of(kind).key) for team_id, kind in kinds)
    return {
        team.pk: [
            Today(phase, n_of[team.pk, phase.key], phase.max_per_day or 0, end, zone) for phase in limited
        ]
        for team in teams
    }


@dataclass(frozen=True)
class SubmitPage:
    """The run formats that a track accepts; after a check or a submission, the answer for each file."""

    track: Track
    formats: Sequence[FormHelp]
    rules: Sequence[str]
    checks_docnos: bool
    ids: str  # what the documents of a run are called
    states: list[Acceptance]
    is_open: bool
    why_closed: str
    pool_note: str  # that a run is too late for the pool
    phases: Sequence[Phase]
    today: Sequence[tuple[Team, list[Today]]]  # of the teams of the user; organizers have no daily limit
    answers: Sequence[Answer] = ()


def submit_page(user: AnyUser, track: Track) -> SubmitPage:
    protocol, of_kinds = track.protocol.parsed, acceptances_for(user, track)
    today: list[tuple[Team, list[Today]]] = []
    if protocol.runs.phases and not oversees(user, track.pk):
        teams = list(teams_of(user, track))
        of_teams = today_of(track, teams, times.now())
        today = [(team, of_teams[team.pk]) for team in teams]
    return SubmitPage(
        track=track,
        formats=accepted_forms(protocol),
        rules=rules_of(protocol),
        checks_docnos=any(has(track, protocol) for has in (has_units, has_formulas, has_posts)),
        ids="Formula ids" if protocol.unit in FORMULAS else "Docnos",
        states=of_kinds,
        is_open=is_accepting(of_kinds),
        why_closed=why_closed(of_kinds),
        pool_note=pooling_over(track) if is_accepting(of_kinds) else "",
        phases=protocol.runs.phases,
        today=today,
    )


@dataclass(frozen=True)
class ProgramsPage:
    """The page for programs: `text` is Markdown; `schema` is the JSON Schema of a line, None if runs are not JSON."""

    track: Track
    text: str
    html: SafeString
    schema: Mapping[str, Any] | None


def programs_page(user: AnyUser, track: Track, site: str) -> ProgramsPage:
    """The guidelines about runs for the programs of participants. `site` is the origin of the addresses of the site."""
    protocol = track.protocol.parsed
    copies = copies_narratives(protocol)
    topics = hide_fields(user, track, topics_of(user, track, with_texts=copies))
    texts = {topic.code: plain(topic.title or topic.body or topic.narrative) for topic in topics if copies}
    more = [
        f"Ids are looked up in the collection {track.collection} when a run is submitted."
        for has in (has_units, has_formulas, has_posts)
        if has(track, protocol)
    ]
    text = guide(
        protocol,
        title=f"Runs of {track.name}",
        check=f"assay check --track {site}{track.get_absolute_url()} FILE",
        schema=f"curl '{site}{address_of('pooling:programs', track.slug)}?format=schema'",
        submit=f"assay submit --server {site}{get_script_prefix().rstrip('/')} {track.slug} FILE",
        topics=[topic.code for topic in topics],
        narratives={code: text for code, text in texts.items() if text},
        more=more,
    )
    return ProgramsPage(track, text, SafeString(plain_html(text)), run_schema(protocol))


def may_see_runs(user: AnyUser, track: Track) -> bool:
    """Return whether a user may see runs of a track: assessors must not know which run retrieved a document."""
    return oversees(user, track.pk) or not is_assessor(user, track)


def runs_for(user: AnyUser) -> QuerySet[Run]:
    """The runs that a user may see: organizers see all, others those of their own teams."""
    if not isinstance(user, User):
        return Run.objects.none()
    runs = Run.objects.select_related("track__protocol", "team", "submitted_by", "withdrawn_by")
    own = Q(team__in=Team.objects.filter(members=user), track__in=tracks_for(user))
    return runs.filter(own | Q(track__in=[*user.roles]))


_RUN = Prepared(
    lambda run: Run.objects.select_related(
        "track__protocol", "track__collection", "team", "submitted_by", "withdrawn_by"
    ).filter(pk=run)
)


def run_or_404(user: AnyUser, run_id: int) -> Run:
    """A run that the user may see.

    Raises:
        Http404: It does not exist, or the user may not see it.
    """
    run = _RUN.first(run=run_id)
    if run is None or not (oversees(user, run.track_id) or runs_for(user).filter(pk=run_id).exists()):
        raise Http404("No run matches.")
    return run


def submitted_runs(teams: QuerySet[Team]) -> QuerySet[Run]:
    """The submitted runs of some teams, by team and tag."""
    runs = Run.objects.filter(team__in=teams, status=Run.Status.SUBMITTED).select_related("team")
    return runs.order_by("team__name", "tag").defer("report")


def run_by_id(run_id: int) -> Run:
    return Run.objects.select_related("track", "team", "submitted_by").get(pk=run_id)


def runs_of(user: AnyUser, track: Track) -> QuerySet[Run]:
    """The runs of a track that a user may see, by team and place, withdrawn ones last.

    `n_warnings` is the number of kinds of warnings.
    """
    runs = Run.objects.all() if oversees(user, track.pk) else runs_for(user)
    return _listed(runs.filter(track=track))


def _listed(runs: QuerySet[Run]) -> QuerySet[Run]:
    rows = _with_warnings(runs.select_related("team", "submitted_by", "withdrawn_by"))
    return rows.order_by(STATE_ORDER, "team__name", "priority", "id")


_OF_TRACK = Prepared(lambda track: _listed(Run.objects.filter(track=track)))


def _with_warnings(runs: QuerySet[Run]) -> QuerySet[Run]:
    n_warnings = Func(F("report__warnings"), function="jsonb_array_length", output_field=IntegerField())
    return runs.annotate(n_warnings=n_warnings).defer("report")


def with_answers(runs: QuerySet[Run], chosen: ChosenAnswers) -> QuerySet[Run]:
    """The runs that have the chosen answers; of several choices, one is enough."""
    for key, choice in chosen.choices.items():
        runs = runs.filter(Q(answers__contains={key: choice}) | Q(answers__contains={key: [choice]}))
    return runs


class PooledTo(NamedTuple):
    """A pool that contains a run. The depth is None if every rank is pooled."""

    pool: str
    depth: int | None


_BUILT = Prepared(
    lambda track: (
        PoolRun.objects.filter(pool__track=track, pool__status=Pool.Status.READY)
        .select_related("pool")
        .order_by("pool_id")
    )[:1]
)


def pooling_over(track: Track, which: str = "A run submitted now") -> str:
    """The sentence that a pool of runs was built, so that another run is not in it; empty before."""
    first = _BUILT.first(track=track.pk)
    if first is None:
        return ""
    return f"The pool was built on {first.pool.created_at:%Y-%m-%d}. {which} is scored but not pooled."


@dataclass(frozen=True)
class RunPage:
    """A run with the report of its check, its pools and what happened to it. `others` are runs of the same team.

    `disqualification` is the latest one, if the run is disqualified now. `pool_note` says why the run is in no pool.
    """

    track: Track
    run: Run
    report: Report
    is_accepting_runs: bool
    pooled: list[PooledTo]
    pool_note: str
    changes: list[RunChange]
    disqualification: RunChange | None
    others: list[Run]
    may_describe: bool
    may_disqualify: bool
    may_submit_another: bool
    has_lines: bool  # so that its file can have a header


def run_page(user: User, run: Run) -> RunPage:
    is_open = acceptance_of(run.track, run.kind).is_accepting
    may_submit, organizes = may_submit_for(user, run.team), user.organizes(run.track_id)
    changes = list(run.changes.select_related("by"))
    disqualified = [change for change in changes if change.kind == RunChange.Kind.DISQUALIFIED]
    in_pools = [in_pool for _, in_pool in pooled([run.pk])]
    return RunPage(
        track=run.track,
        run=run,
        report=Report.from_json(run.report),
        is_accepting_runs=is_open,
        pooled=in_pools,
        pool_note=pooling_over(run.track, "This run") if run.is_submitted and not in_pools else "",
        changes=changes,
        disqualification=disqualified[-1] if run.status == Run.Status.DISQUALIFIED and disqualified else None,
        others=list(others_of(run)),
        may_describe=run.status != Run.Status.WITHDRAWN and (is_open or organizes) and may_submit,
        may_disqualify=organizes and run.is_submitted and not is_open,
        may_submit_another=is_open and may_submit,
        has_lines=_has_lines(run),
    )


def _has_lines(run: Run) -> bool:
    forms = forms_of(run.track.protocol.parsed)
    return Report.from_json(run.report).format in {form.name for form in forms if isinstance(form, LineForm)}


def file_with_header(run: Run) -> Iterator[bytes]:
    """The lines of a run, uncompressed, below a header of ir_metadata with what is stated about it.

    Raises:
        Refused: The run is not of lines.
    """
    if not _has_lines(run):
        raise Refused(
            f"A header of ir_metadata is for runs of lines, and {run.tag} is in another form.",
            code="no-header",
            title="The file has no place for a header",
        )
    return _lines(run, _stated(run))


def metadata_file(run: Run) -> bytes:
    """The statements about a run in the format ir_metadata, as YAML in a file of its own."""
    lines = header(_stated(run)).decode().splitlines(keepends=True)[1:-1]  # without the marks of a header
    return "".join(line.removeprefix("# ") for line in lines).encode()


def _stated(run: Run) -> dict[str, str]:
    return header_of_run(
        run.track.protocol.parsed.runs,
        run.report.get("metadata", {}),
        tag=run.tag,
        team=run.team.name,
        is_manual=run.is_manual,
        models=run.models_used,
        answers=run.answers,
    )


def _lines(run: Run, fields: Mapping[str, str]) -> Iterator[bytes]:
    limits = Limits()
    with run.original.open("rb") as file:
        yield from with_header(Lines(unpack(cast("BinaryIO", file), limits), limits), fields)


_IN_POOLS = Prepared(
    lambda runs: (
        PoolRun.objects.filter(is_among("run", runs), pool__status=Pool.Status.READY, depth__gt=0)
        .select_related("pool")
        .only("run", "depth", "pool__name")
        .order_by("pool_id")
    )
)


def pooled(runs: Sequence[int]) -> list[tuple[int, PooledTo]]:
    """The finished pools that contain some runs, each with the id of the run, oldest first. One query."""
    return [
        (row.run_id, PooledTo(row.pool.name, None if row.depth == EVERY_RANK else row.depth))
        for row in _IN_POOLS(runs=runs)
    ]


def others_of(run: Run) -> QuerySet[Run]:
    """The other runs of the team of a run, with which it can be compared."""
    others = Run.objects.filter(team=run.team_id).exclude(pk=run.pk).defer("report")
    return others.order_by(STATE_ORDER, "priority", "pk")


class RunRow(NamedTuple):
    """A run in the list of its team. `place` is its place among the submitted runs; None in another state."""

    run: Run
    place: int | None
    pools: list[PooledTo]


class Quota(NamedTuple):
    """The number of runs of a kind that a team has, and may have; `most` is None without a limit."""

    kind: str
    n: int
    most: int | None

    @property
    def left(self) -> int | None:
        return None if self.most is None else max(0, self.most - self.n)


class Disk(NamedTuple):
    """The disk space of a team's runs, in words and in percent of the limit."""

    used: str
    limit: str
    left: str
    percent: int


@dataclass(frozen=True)
class TeamRunsPage:
    """The runs of a team. `teams` are all teams whose runs the user may see."""

    track: Track
    team: Team
    teams: list[Team]
    rows: list[RunRow]
    quotas: list[Quota]
    today: list[Today]
    disk: Disk
    n_submitted: int
    states: list[Acceptance]
    is_accepting_runs: bool
    why_closed: str
    pool_note: str  # that a run is too late for the pool
    may_order: bool
    may_submit: bool
    missing: str  # what the team owes
    next_closing: Acceptance | None  # the kind of runs that closes next, of those that are accepted


def team_of(user: AnyUser, track: Track) -> Team | None:
    """The first team of a user in a track."""
    return own_teams(user, track).order_by("pk").first()


def team_runs_page(user: User, team: Team) -> TeamRunsPage:
    [page] = team_runs_pages(user, team.track, [team])
    return replace(page, teams=[] if user.oversees(team.track_id) else list(own_teams(user, team.track)))


_OF_TEAMS = Prepared(
    lambda teams: _with_warnings(
        Run.objects.filter(is_among("team", teams)).select_related("submitted_by", "withdrawn_by")
    ).order_by(STATE_ORDER, "priority", "pk")
)


def team_runs_pages(user: User, track: Track, teams: Sequence[Team]) -> list[TeamRunsPage]:
    """The pages of the runs of some teams of a track. The number of queries does not grow with teams or runs."""
    rules, of_kinds = track.protocol.parsed.runs, acceptances_for(user, track)
    runs: defaultdict[int, list[Run]] = defaultdict(list)
    by_id = {team.pk: team for team in teams}
    for run in _OF_TEAMS(teams=list(by_id)):
        run.track, run.team = track, by_id[run.team_id]
        runs[run.team_id].append(run)
    pools: defaultdict[int, list[PooledTo]] = defaultdict(list)
    for run_id, in_pool in pooled([run.pk for listed in runs.values() for run in listed]):
        pools[run_id].append(in_pool)
    if rules.documents:
        prefetch_related_objects(teams, "files")
    submitting = set(
        teams_of(user, track).filter(pk__in=[team.pk for team in teams]).values_list("pk", flat=True)
    )
    today = today_of(track, teams, of_kinds[0].at if of_kinds else times.now())
    closing = min(
        (kind for kind in of_kinds if kind.is_accepting and kind.next_at),
        key=lambda kind: cast("datetime", kind.next_at),
        default=None,
    )
    pool_note = pooling_over(track) if is_accepting(of_kinds) else ""
    may_reorder = is_accepting(until_closing(track, of_kinds)) or user.organizes(track.pk)
    pages = []
    for team in teams:
        n_of = Counter(run.kind for run in runs[team.pk] if run.status != Run.Status.WITHDRAWN)
        kinds = [kind for kind in rules.kinds if kind.submitted_by == "teams" or n_of[kind.key]]
        used, limit = sum(run.n_bytes for run in runs[team.pk]), disk_limit(team)
        percent = min(100, round(100 * used / limit)) if limit else 100
        n_submitted = sum(run.is_submitted for run in runs[team.pk])
        pages.append(
            TeamRunsPage(
                track=track,
                team=team,
                teams=[],
                rows=[
                    RunRow(run, n if run.is_submitted else None, pools[run.pk])
                    for n, run in enumerate(runs[team.pk], 1)
                ],
                quotas=[Quota(kind.name, n_of[kind.key], kind.max_per_team) for kind in kinds],
                today=today[team.pk],
                disk=Disk(size(used), size(limit), size(max(0, limit - used)), percent),
                n_submitted=n_submitted,
                states=of_kinds,
                is_accepting_runs=is_accepting(of_kinds),
                why_closed=why_closed(of_kinds),
                pool_note=pool_note,
                may_order=team.pk in submitting and n_submitted > 1 and may_reorder,
                may_submit=team.pk in submitting,
                missing=owing_of(team, rules, n_of).missing,
                next_closing=closing,
            )
        )
    return pages
