"""The parts that a release of a leaderboard makes visible, and the checks that fail."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Exists, OuterRef, Q
from django.urls import reverse

from assay.formats.text import listed
from assessment.agreement.selectors import remarks as agreement_remarks
from assessment.batches.progress import BatchProgress, progress_of_each
from assessment.judgments.selectors import current_judgments
from assessment.models import Batch
from participation.teams.selectors import run_counts
from pooling.models import Run
from pooling.runs.selectors import kinds_by_team
from scoring.models import WELL_JUDGED, Leaderboard, Qrels, QrelsEntry
from scoring.qrels.selectors import other_judges, runs_to_score
from tracks.checklist.points import named
from tracks.models import Track
from web.confirmation import Check, Confirmation, by_mail
from web.pages import counted
from web.statements import Statement
from web.times import in_words

SAMPLE = 30  # units of a machine's qrels that people judged too, from which on a release needs no reason
UNKNOWN = "unknown-document"  # the code of a warning
WIDER = [Leaderboard.Release.HIDDEN, Leaderboard.Release.PARTICIPANTS, Leaderboard.Release.PUBLIC]


@dataclass(frozen=True)
class ReleasePage:
    """The effect of a release: `visible` becomes visible to `audience`, `hidden` stays with the organizers."""

    track: Track
    board: Leaderboard
    level: str
    audience: str
    visible: list[str]
    hidden: list[str]
    hindrances: list[str]
    remarks: list[Check]

    @property
    def is_wider(self) -> bool:
        """Return whether more people see it afterwards."""
        return is_wider(self.board, self.level)

    @property
    def question(self) -> Confirmation:
        """The question before the release, or before fewer people see the leaderboard."""
        if not self.is_wider:
            return narrowing("leaderboard", self.level, self.board.get_absolute_url())
        target = "everybody" if self.level == Leaderboard.Release.PUBLIC else "the teams"
        anonymous = " People without an account see it too." if target == "everybody" else ""
        return Confirmation(
            act=f"Release the leaderboard to {target}",
            lead=f"Scored against qrels {self.board.qrels}.{anonymous}",
            button=f"Release to {target}",
            back=self.board.get_absolute_url(),
            keep="Not yet",
            text="You can hide the leaderboard again, but what people have read or downloaded stays with them.",
            checks=[
                *(
                    [Check("look", hindrance) for hindrance in self.hindrances]
                    or [Check("ok", "Every submitted run is on it", "The track is not open for runs.")]
                ),
                *self.remarks,
            ],
            fixed=["The qrels are known: later runs are marked as made after them"],
            changeable=[
                "Who sees it: the teams, everybody, or nobody",
                "Later leaderboards and corrected qrels",
            ],
            notified=by_mail(
                "Members of the teams with runs on it, if they chose e-mails about runs; once for a leaderboard.",
                "Announce the results, so that people know of them.",
            ),
            is_danger=bool(self.hindrances),
            preview="scoring/leaderboards/_what_is_seen.html",
        )


def narrowing(noun: str, level: str, back: str) -> Confirmation:
    """The question before fewer people see a released leaderboard or another board."""
    is_hidden = level == Leaderboard.Release.HIDDEN
    return Confirmation(
        act=f"Hide the {noun}" if is_hidden else f"Show the {noun} to the teams only",
        button=f"Hide {noun}" if is_hidden else "Show to the teams only",
        back=back,
        text=f"Only {'organizers' if is_hidden else 'organizers and the teams'} see it from this moment.",
        fixed=["What people have read or downloaded stays with them"],
        changeable=["Who sees it: you can release it again"],
        notified="Nobody. Links to it lead to “Page not found” for those who no longer see it.",
    )


def runs_in_words(n: int, n_teams: int, n_baselines: int) -> str:
    """The baselines and the `n` other runs of a leaderboard: "2 baselines and 5 runs of 2 teams"."""
    baselines = f"{counted(n_baselines, 'baseline')} and " if n_baselines else ""
    return f"{baselines}{counted(n, 'run')} of {counted(n_teams, 'team')}"


def is_wider(board: Leaderboard, level: str) -> bool:
    """Return whether more people see the leaderboard at this level than now."""
    return WIDER.index(Leaderboard.Release(level)) > WIDER.index(Leaderboard.Release(board.release))


def missing_runs(board: Leaderboard) -> list[str]:
    """The tags of submitted runs that the leaderboard would have if its runs were scored now. One query."""
    runs = runs_to_score(board.track).exclude(evaluations__leaderboard=board)
    if board.track.protocol.parsed.judged.has_nuggets:  # those whose units have no grade were left out
        runs = runs.exclude(pk__in=[run["run"] for run in board.statistics.get("unassigned", ())])
    return list(runs.order_by("tag").values_list("tag", flat=True))


_FIRST_RELEASE = Statement(
    "SELECT min(coalesce(mailed_at, released_at)) FROM scoring_leaderboard WHERE track_id = %(track)s"
)


def qrels_known_since(track: Track) -> datetime | None:
    """The time of the first release of a leaderboard of a track, which made its qrels known. One query.

    A release that was withdrawn counts: who has seen the qrels knows them.
    """
    [(first,)] = _FIRST_RELEASE.rows(track=track.pk)
    known_since: datetime | None = first
    return known_since


def hindrances(board: Leaderboard) -> list[str]:
    """Reasons not to show a leaderboard and its qrels yet, in whole sentences. Three queries at most."""
    track = board.track
    openings = track.deadlines.filter(kind="", opens_at__isnull=False)
    batches = Batch.objects.filter(pool__track=track, status=Batch.Status.OPEN).order_by("name")
    batches = batches.filter(kind__in=kinds_in(board.qrels))
    return reasons_to_wait(
        board,
        missing=missing_runs(board),
        will_open=track.status == Track.Status.DRAFT and openings.exists(),
        opened=list(batches.values_list("name", flat=True)),
        n_sampled=human_sample(board),
    )


def kinds_in(qrels: Qrels) -> set[str]:
    """The kinds of batches of people whose judgments are in qrels; none if they were imported."""
    if qrels.source == Qrels.Source.IMPORTED:
        return set()
    return {Batch.Kind.MAIN, Batch.Kind.ADJUDICATION, *qrels.report.get("also", ())}


def human_sample(board: Leaderboard) -> int:
    """The number of units of a machine's qrels that people graded too. No query for qrels of people."""
    if not board.qrels.machine_name:
        return 0
    by_people = current_judgments(board.track, Batch.Kind.MAIN, Batch.Kind.ADJUDICATION).filter(
        topic__code=OuterRef("topic"), docno=OuterRef("docno"), grade__isnull=False
    )
    return QrelsEntry.objects.filter(Exists(by_people.order_by()), qrels=board.qrels_id).count()


def reasons_to_wait(
    board: Leaderboard, *, missing: list[str], will_open: bool, opened: list[str], n_sampled: int
) -> list[str]:
    """As `hindrances`, without a query.

    Args:
        missing: the tags of `missing_runs`.
        will_open: whether a draft opens at a set time.
        opened: the names of the open batches whose kind is in the qrels.
        n_sampled: of qrels of a machine, the units that people judged too.
    """
    track, reasons = board.track, []
    if board.qrels.machine_name and n_sampled < SAMPLE:
        people = f"people judged only {counted(n_sampled, 'of its units,of its units')}"
        people = f"{people}, fewer than {SAMPLE}" if n_sampled else "no person judged"
        reasons.append(f"The qrels are the grades of the machine {board.qrels.machine_name}; {people}.")
    if unknown := board.qrels.report.get("unknown_topics"):  # of a version from before imports refused them
        n_topics = counted(len(unknown), "topic of the qrels is,topics of the qrels are")
        reasons.append(f"{n_topics} not in {track} and counted as 0 in every mean: {listed(unknown)}.")
    if missing:
        verb = "was" if len(missing) == 1 else "were"
        reasons.append(f"{listed(missing)} {verb} submitted after the scoring. Score the runs again.")
    if will_open:
        reasons.append(f"{track} will open for runs at a set time: a run could be made from the qrels.")
    if track.status == Track.Status.OPEN:
        reasons.append(f"{track} is open for runs: a run could be made from the qrels that you release.")
    if opened:
        verb = "is" if len(opened) == 1 else "are"
        reasons.append(
            f"{counted(len(opened), 'batch,batches')} {verb} open, so grades can still change: {', '.join(opened)}."
        )
    return reasons


def release_page(board: Leaderboard, level: str) -> ReleasePage:
    """The check before a release. A fixed number of queries."""
    track, is_public = board.track, level == Leaderboard.Release.PUBLIC
    hidden = ["Judgments, comments and the names of assessors.", "The pool, and the files of the runs."]
    if not is_public:
        hidden.insert(0, "The runs of other teams by topic.")
    if n_others := track.leaderboards.exclude(pk=board.pk).filter(release=Leaderboard.Release.HIDDEN).count():
        hidden.append(f"{counted(n_others, 'other leaderboard')} of the track.")
    return ReleasePage(
        track=track,
        board=board,
        level=level,
        audience=_audience(track, is_public=is_public),
        visible=_visible(board, is_public=is_public),
        hidden=hidden,
        hindrances=hindrances(board) if is_wider(board, level) else [],
        remarks=list(_remarks(board)),
    )


def _remarks(board: Leaderboard) -> Iterator[Check]:
    """Yield what people will ask about the results. It needs no reason. A fixed number of queries."""
    track, qrels = board.track, board.qrels
    if n_gone := board.evaluations.exclude(run__status=Run.Status.SUBMITTED).count():
        label = f"{counted(n_gone, 'run was,runs were')} withdrawn or disqualified after the scoring"
        yield Check("look", label, "New scores leave such runs out.", board.get_absolute_url(), "Score again")
    dates = ("", f"{reverse('tracks:deadlines', args=[track.slug])}#names", "Dates")
    if track.names_hidden_until and track.names_are_hidden:
        yield Check("ok", f"Names are hidden until {in_words(track.names_hidden_until, 'UTC')}", *dates)
    else:
        yield Check("ok", "Everybody who sees it reads the names of teams and runs", *dates)
    runs = track.runs.filter(status=Run.Status.SUBMITTED)
    counts = run_counts(
        kinds_by_team(runs.only("kind", "team"), track.teams.all()), track.protocol.parsed.runs
    )
    if counts.teams:
        yield Check("ok", f"{counts.submitting:,} of {counted(counts.teams, 'team')} submitted runs")
    if qrels.source == Qrels.Source.FROZEN and not qrels.machine_name:
        yield from agreement_remarks(track)
    for progress in _other_open_batches(board):
        label = f"{progress.batch} is still open: {progress.judged:,} of {progress.total:,} judged"
        address = progress.batch.get_absolute_url()
        yield Check("look", label, "Its judgments are not in these qrels.", address, "Progress")
    link = ("", qrels.get_absolute_url(), "Qrels")
    if others := other_judges(track.qrels.all(), qrels):
        yield Check("look", others.removesuffix("."), *link)
    scored = (
        board.evaluations.filter(run__status=Run.Status.SUBMITTED).select_related("run").order_by("run__tag")
    )
    scored = scored.only("leaderboard", "judged_at_10", "run__tag")
    if thin := [evaluation.run.tag for evaluation in scored if evaluation.is_thinly_judged]:
        label = f"Less than {100 * WELL_JUDGED:.0f} % of the top 10 is judged in {counted(len(thin), 'run')}"
        detail = "Their values can change when more is judged."
        yield Check("look", f"{label}: {named(thin)}", detail, board.get_absolute_url(), "Leaderboard")
    if n := qrels.report.get("unjudged", {}).get("n", 0):
        yield Check("look", f"{counted(n, 'unit of the pool is,units of the pool are')} unjudged", *link)
    graded = QrelsEntry.objects.filter(qrels=qrels, topic=OuterRef("code"))
    without = list(track.topics.exclude(Exists(graded)).values_list("code", flat=True))
    if without:
        n_topics = counted(len(without), "topic has,topics have")
        yield Check("look", f"{n_topics} no qrels and no effect on any mean: {named(without)}", *link)
    runs = Run.objects.filter(evaluations__leaderboard=board).order_by("tag")
    reports = runs.values_list("tag", "report__warnings")
    warned = {
        tag: sum(warning["n"] for warning in of_run if warning["code"] == UNKNOWN)
        for tag, of_run in reports
        if of_run
    }
    unknown = {tag: n for tag, n in warned.items() if n}
    if unknown:
        lines = f"{counted(sum(unknown.values()), 'line')} with documents that the collection does not have"
        address = reverse("pooling:runs", args=[track.slug])
        yield Check("look", f"{lines}: {named(list(unknown))}", "", address, "Runs")


def _other_open_batches(board: Leaderboard) -> list[BatchProgress]:
    """The open batches of people, except training, whose judgments do not change the qrels, with their progress."""
    batches = Batch.objects.filter(pool__track=board.track, status=Batch.Status.OPEN)
    batches = batches.exclude(kind__in={Batch.Kind.MACHINE, Batch.Kind.TRAINING, *kinds_in(board.qrels)})
    return list(progress_of_each(batches).values())


def _audience(track: Track, *, is_public: bool) -> str:
    if is_public:
        return "everybody"
    has_members = Q(members__isnull=False)
    n = track.teams.aggregate(
        teams=Count("pk", distinct=True, filter=has_members),
        without=Count("pk", distinct=True, filter=~has_members),
        people=Count("members", distinct=True),
    )
    audience = f"{counted(n['people'], 'member')} of {counted(n['teams'], 'team')}"
    if not n["without"]:
        return audience
    return f"{audience} ({counted(n['without'], 'team')} {'has' if n['without'] == 1 else 'have'} no member)"


def _released_before(board: Leaderboard) -> list[Leaderboard]:
    """The released leaderboards of the other versions of the qrels, newest first. One query."""
    boards = board.track.leaderboards.exclude(release=Leaderboard.Release.HIDDEN).exclude(
        qrels=board.qrels_id
    )
    return list(boards.select_related("qrels").defer("statistics", "qrels__report"))


def _correction(board: Leaderboard, released: Leaderboard) -> str:
    """The correction that both versions name, or a request to state it. Qrels of other judges correct nothing."""
    if board.qrels.machine_id != released.qrels.machine_id:
        return "They have different judges."
    if board.qrels.supersedes_id == released.qrels_id:
        return f"Both name the correction: {board.qrels.supersedes_reason}"
    return "State on the page of the newer qrels that they correct the older ones, and why."


def _visible(board: Leaderboard, *, is_public: bool) -> list[str]:
    kinds = board.track.protocol.parsed.runs.kinds
    is_baseline = Q(run__kind__in=[kind.key for kind in kinds if kind.baseline])
    runs = board.evaluations.aggregate(
        n=Count("pk", filter=~is_baseline),
        n_teams=Count("run__team", distinct=True, filter=~is_baseline),
        n_baselines=Count("pk", filter=is_baseline),
    )
    whose = "Every run" if is_public else "For each team, its own runs"
    dropped = len(board.qrels.report.get("dropped", ()))
    n_units, n_topics = counted(board.qrels.n_judged, "unit"), counted(board.qrels.n_topics, "topic")
    kind_of_names = "pseudonyms" if board.track.names_are_hidden else "the names of teams and runs"
    names = f"{runs_in_words(**runs)} with {kind_of_names}"
    left_out = f"; and the {counted(dropped, 'dropped topic')}" if dropped else ""
    if omitted := len(board.qrels.report.get("left_out_topics", ())):
        left_out += f"; and the {counted(omitted, 'topic')} left out, with the reason"
    facts = [
        f"The leaderboard: {names}, and {counted(len(board.measures), 'measure')} with intervals and tiers.",
        f"{whose} by topic: all values, curves, and the comparison of two runs.",
        f"The qrels {board.qrels}: {n_units} of {n_topics} with their grades, also as files{left_out}.",
        "The difficulty of each topic, with how many units have each grade.",
    ]
    released = _released_before(board)
    facts += [
        f"The qrels {other.qrels} are visible to {other.get_release_display()} already: everybody can compare "
        f"the two. {_correction(board, other)}"
        for other in released
    ]
    return facts
