"""Template tags of the whole site: the navigation of a track, the steps of a role, times, counted nouns, and what pages
show of the apps above theirs: the scores of runs, and the published runs.
"""

import re
from datetime import datetime
from typing import Any, NamedTuple

from django import template
from django.contrib.auth.models import AnonymousUser
from django.contrib.humanize.templatetags.humanize import intcomma
from django.db.models import QuerySet
from django.template.loader import render_to_string
from django.utils.html import conditional_escape, format_html, format_html_join, json_script
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import get_language, gettext

from accounts.access import AnyUser, oversees
from accounts.models import User
from assay.protocols.description import label_title, label_value
from assay.protocols.measures import parse_measure
from assay.protocols.schema import EVERY_RANK, FORMATS
from assessment.checklist import batches_of
from assessment.models import Batch
from config.chairs import is_chair, is_refused
from home.landing import state_of
from home.languages import SOURCE, words_of_scripts
from home.public import PublicPage, public_page, way_in
from home.track_home import track_home
from jobs.models import Job
from jobs.selectors import may_control
from participation.models import Team
from pooling.models import Pool, Run
from pooling.pools.selectors import missing_texts as missing_texts_of
from publishing.documents.selectors import documents_of_team as team_documents
from publishing.published_runs.selectors import publication_of
from scoring.checklist import boards_of
from scoring.evaluations.selectors import scores_of
from scoring.leaderboards.files import released_files
from scoring.leaderboards.selectors import runs_of_judge_family
from scoring.models import Leaderboard, PhaseScore
from scoring.phases.selectors import scores_of_runs
from scoring.qrels.selectors import newest_of_people, units_by_topic
from tracks import tabs
from tracks.checklist.selectors import Checklist, Next, checklist
from tracks.deadline_acceptance import Acceptance, next_closing, timetable
from tracks.models import Topic, Track
from tracks.topics.selectors import topics_by_code
from tracks.tracks.services import fixed_fields
from web.links import address_of
from web.pages import context_of, counted, hours, size
from web.slots import parts_of
from web.statements import Prepared
from web.times import AOE, in_words, zone_of

TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?: [0-9]{2}:[0-9]{2}(?: AoE| UTC)?)?|[0-9.,]{1,12} (?:h|min)\b"
)

register = template.Library()
register.filter("counted", counted)
register.filter("label_title", label_title)
register.filter("hours", hours)
register.filter("file_size", size)
register.filter("next_closing", next_closing)
register.simple_tag(way_in)


@register.filter("oversees")
def oversees_track(user: AnyUser, track: Track) -> bool:
    """Return whether a user sees everything of a track: as its organizer or as its chair."""
    return oversees(user, track.pk)


@register.filter("label_value")
def label_value_in_language(value: str, label: str) -> str:
    """A value of a label in words; names of languages are in that of the page."""
    words = label_value(value, label)
    return words if words == value else ", ".join(map(gettext, words.split(", ")))


register.filter("is_refused", is_refused)


@register.filter
def controls(user: AnyUser, job: Job) -> bool:
    """Return whether a user may retry and cancel a job."""
    return isinstance(user, User) and may_control(user, job)


@register.simple_tag(takes_context=True)
def topic_titles(context: template.Context, track: Track) -> dict[str, Topic]:
    """The topics that the reader may see, by code, for `components/topic_title.html`."""
    return topics_by_code(context["user"], track)


@register.simple_tag(takes_context=True)
def shows_phases(context: template.Context, track: Track) -> bool:
    """Return whether a page has the navigation of organizers and chairs, who may also look at the public page."""
    request = context["request"]
    return oversees(request.user, track.pk) and request.GET.get("view") != "public"


@register.simple_tag(takes_context=True)
def place_in_track(context: template.Context) -> str:
    """The name of a page of a track in the navigation."""
    page = tabs.page_of(context["request"].resolver_match)
    return gettext(page.label) if page else ""


@register.inclusion_tag("components/track_nav.html", takes_context=True)
def track_nav(context: template.Context, track: Track) -> dict[str, object]:
    """The navigation of a track for its organizers and chairs: its sections, with counts and states."""
    page, match = _checklist_of(context, track), context["request"].resolver_match
    states = {
        phase.phase.value: (phase.state, phase.is_done, any(point.is_next for point in phase.points))
        for phase in page.phases
        if phase.state
    }
    has_results = any(board.release == Leaderboard.Release.PUBLIC for board in page.campaign.rows(boards_of))
    batches = {(batch.kind, batch.status) for batch in page.campaign.rows(batches_of)}
    state = state_of(
        track,
        has_results=has_results,
        is_judging_main=(Batch.Kind.MAIN, Batch.Status.OPEN) in batches,
        was_judging=(Batch.Kind.MAIN, Batch.Status.CLOSED) in batches,
    )
    phases = tabs.track_nav(page.campaign, match, states)
    if is_chair(context["request"]):
        phases = [
            phase._replace(items=tuple(item for item in phase.items if not is_refused(item.address)))
            for phase in phases
        ]
    return {"track": track, "state": state, "phases": phases}


@register.inclusion_tag("components/tabs.html", takes_context=True)
def track_tabs(context: template.Context, track: Track) -> dict[str, object]:
    """The tabs of a track for everybody else, also in an organizer's preview. Each page checks permissions itself."""
    request = context["request"]
    is_preview = oversees(request.user, track.pk)
    if track.status == Track.Status.DRAFT and not is_preview:
        return {"tabs": []}  # somebody who chooses its topics sees no other page of it
    user = AnonymousUser() if is_preview else request.user
    return {"tabs": tabs.track_tabs(user, track, request.resolver_match)}


@register.simple_tag(takes_context=True, name="public_page")
def public_page_of(context: template.Context, track: Track) -> PublicPage:
    return public_page(context["request"], track)


def _checklist_of(context: template.Context, track: Track) -> Checklist:
    """The checklist of a track, computed once for the navigation, the next step and the home of a page.

    On the home, the navigation knows of the problems that take queries too, since the home shows them.
    """
    computed: dict[int, Checklist] = vars(context["request"]).setdefault("checklists", {})
    if track.pk not in computed:
        page = checklist(track)
        is_home = context.template_name == "tracks/tracks/home.html"
        computed[track.pk] = page.with_looks() if is_home else page
    return computed[track.pk]


@register.inclusion_tag("tracks/tracks/_home.html", takes_context=True)
def home_of_track(context: template.Context, track: Track) -> dict[str, object]:
    """The home of a track for those who see everything of it."""
    user, page = context["request"].user, track_home(track, _checklist_of(context, track))
    organizes = isinstance(user, User) and user.organizes(track.pk)
    others = {"csrf_token": context.get("csrf_token"), "may_change": context["may_change"]}
    return context_of(page) | others | {"organizes": organizes}


@register.inclusion_tag("components/next_step.html", takes_context=True)
def next_step(context: template.Context, track: Track) -> dict[str, object]:
    """The next step of a track as a line, for its organizers; without a link on the page where it leads."""
    step = _step_of(context, track)
    is_here = step is not None and step.leads_to(context["request"].resolver_match)
    remarks = [*step.look()] if step is not None and is_here else []
    # Who skips a step on its own page has nothing left to do there; what was looked at stays
    is_left = is_here and step is not None and not step.mark
    back = track.get_absolute_url() if is_left else context["request"].get_full_path()
    token = context.get("csrf_token")
    shown = {"step": step, "is_here": is_here, "remarks": remarks}
    return shown | {"track": track, "back": back, "csrf_token": token}


def _step_of(context: template.Context, track: Track) -> Next | None:
    """The next step of a track on this page, for its organizers."""
    user = context["request"].user
    organizes = isinstance(user, User) and user.organizes(track.pk)
    request = context["request"]
    page = request.resolver_match, request.get_full_path()
    return _checklist_of(context, track).step_at(*page) if organizes else None


@register.simple_tag(takes_context=True)
def main_style(context: template.Context, *, is_deed: bool = False, is_only: bool = False) -> str:
    """The style of the main button of a page of a track: filled where the next step leads (ADR 75).

    Elsewhere, the line of the step has the filled button. If the step leads nowhere, the button is filled on a page
    that has only this one, `is_only`. Where the line marks the step as done, the filled button is that of the page that
    does it, `is_deed`, if there is one.
    """
    step, match = _step_of(context, context["track"]), context["request"].resolver_match
    if step is not None and not step.leads_to(match):
        return "btn-primary" if is_only and not step.address else "btn-plain"
    is_marked = step is not None and step.mark is not None
    return "btn-primary" if is_marked == is_deed else "btn-plain"


@register.simple_tag(takes_context=True)
def main_link(context: template.Context, words: str, address: str, *, is_only: bool = False) -> SafeString:
    """The main button of a page of a track that leads to another page; none if the line of the step has it."""
    if is_in_line(context, address) or (is_refused(address) and not context["may_change"]):
        return SafeString()
    style = main_style(context, is_only=is_only)
    return format_html('<a class="btn {}" href="{}">{}</a>', style, address, words)


@register.simple_tag(takes_context=True)
def is_in_line(context: template.Context, address: str) -> bool:
    """Return whether the line of the next step has the button with this address, so that the page needs none."""
    step = _step_of(context, context["track"])
    return step is not None and step.is_at(address)


@register.simple_tag(takes_context=True)
def main_words(context: template.Context, words: str) -> str:
    """The words of the main button of a page of a track, which are those of the step where it leads."""
    step = _step_of(context, context["track"])
    return step.text if step and step.leads_to(context["request"].resolver_match) else words


@register.simple_tag(takes_context=True)
def here(context: template.Context, view: str) -> SafeString | str:
    """The attribute of a link of the head of the site if it leads to this page, or to one above it.

    All pages of a track are below the list of tracks, also those with another address. Its protocol is a page of many.
    """
    request = context.get("request")
    path, address = getattr(request, "path", ""), address_of(view)
    place = tabs.page_of(getattr(request, "resolver_match", None))
    of_track = place is not None and place.address is None
    is_home = view == "all_tracks" and path == address_of("home") and context["user"].is_authenticated
    is_page = path == address or is_home
    below = [address, f"{address[:-2]}/"]  # the editor of protocols is below /protocol/
    if view == "corpus:collections":
        below.append(address_of("corpus:imports"))
    if not is_page and not (view == "all_tracks" if of_track else path.startswith(tuple(below))):
        return ""
    return format_html(' aria-current="{}"', "page" if is_page else "true")


@register.simple_tag
def script_words() -> SafeString | str:
    """The words of the scripts in the language of the page; nothing on an English page."""
    words = words_of_scripts(get_language() or SOURCE)
    return json_script(words, "words") if words else ""


@register.simple_tag
def time_of(moment: datetime | None) -> SafeString | str:
    """A time in UTC, to the minute; the `datetime` attribute has the exact time."""
    return _time(moment, "%Y-%m-%d %H:%M UTC")


@register.inclusion_tag("components/deadlines.html")
def deadline_table(states: list[Acceptance]) -> dict[str, object]:
    """The times at which runs of each kind are accepted; kinds with the same times share a row."""
    return {"rows": timetable(states)}


@register.simple_tag
def instant(moment: datetime | None, zone: str = "UTC") -> SafeString | str:
    """An instant in the zone in which it was entered and in UTC; `config/times.js` adds the reader's own time."""
    if moment is None:
        return "–"
    parts = in_words(moment, zone).partition(" (")
    zones = format_html_join(
        " ",
        '<span class="text-nowrap">{}</span>',
        ((part,) for part in (parts[0], "".join(parts[1:]).strip()) if part),
    )
    exact = localtime(moment).isoformat(timespec="seconds")
    return format_html('<time datetime="{}" data-local>{}</time>', exact, zones)


@register.simple_tag
def time_in(moment: datetime, zone: str = AOE) -> str:
    """An instant in a zone, to the minute."""
    return f"{moment.astimezone(zone_of(zone)):%Y-%m-%d %H:%M} {zone}"


@register.filter
def whole_times(text: str) -> SafeString:
    """A text whose days, times and hours do not break at the end of a line."""
    return SafeString(TIME.sub(r'<span class="text-nowrap">\g<0></span>', conditional_escape(text)))


@register.simple_tag
def day_of(moment: datetime | None) -> SafeString | str:
    """The day of a time, in UTC."""
    return _time(moment, "%Y-%m-%d")


def _time(moment: datetime | None, pattern: str) -> SafeString | str:
    if moment is None:
        return "–"
    utc = localtime(moment)
    return format_html(
        '<time datetime="{}">{}</time>', utc.isoformat(timespec="seconds"), utc.strftime(pattern)
    )


@register.filter
def minus(number: str) -> str:
    """A number with the sign of the minus in place of a hyphen: `{{ value|floatformat:3|minus }}`."""
    return number.replace("-", "\N{MINUS SIGN}")


@register.filter
def signed(difference: str) -> str:
    """A difference as `minus` shows it, and 0 without sign and decimals: `{{ row.difference|signed }}`."""
    is_zero = difference != "" and float(difference) == 0
    return "0" if is_zero else minus(difference)


@register.filter
def run_format(name: str) -> str:
    return FORMATS.get(name, name)


@register.filter
def measure_title(name: str) -> str:
    """A measure in words, without the set of qrels that may be before a colon."""
    return parse_measure(name.rpartition(":")[2]).title


@register.filter
def as_depth(depth: int) -> str:
    """A depth; in words if the strategy of the pool needs none, and every rank counts."""
    return "all ranks" if depth == EVERY_RANK else intcomma(depth)


@register.simple_tag(takes_context=True)
def slot(context: template.Context, place: str) -> str:
    """Show what apps and extensions add at a place."""
    engine, shown = template.Engine.get_default(), []
    for part in parts_of(place):
        with context.push(**part.values(context["user"])):
            shown.append((engine.get_template(part.template).render(context),))
    return format_html_join("", "{}", shown)


@register.inclusion_tag("scoring/evaluations/_own_scores.html", takes_context=True)
def scores_of_team(context: template.Context, team: Team) -> dict[str, Any]:
    """The scores of a team's runs on the leaderboards that the user may see; nothing before a release."""
    return _scores(context, team.runs.all(), team.track)


@register.inclusion_tag("scoring/evaluations/_own_scores.html", takes_context=True)
def scores_of_own_teams(context: template.Context, track: Track) -> dict[str, Any]:
    """The scores of the runs of a participant's teams, as `scores_of_team`."""
    return _scores(context, track.runs.filter(team__members=context["request"].user), track)


@register.simple_tag(takes_context=True)
def scores_of_run(context: template.Context, run: Run) -> dict[str, Any]:
    """The scores of one run on the leaderboards that the user may see; nothing before a release."""
    return _scores(context, Run.objects.filter(pk=run.pk), run.track)


_SCORED = Prepared(
    lambda track: Leaderboard.objects.filter(track=track, status=Leaderboard.Status.READY).only("pk")[:1]
)


def _scores(context: template.Context, runs: QuerySet[Run], track: Track) -> dict[str, Any]:
    user = context["request"].user
    has_boards = any(phase.has_board for phase in track.protocol.parsed.runs.phases)
    phases = scores_of_runs(user, runs) if has_boards else []
    is_scoring = any(row.score.status == PhaseScore.Status.SCORING for _, rows in phases for row in rows)
    boards = scores_of(user, runs) if _SCORED.first(track=track.pk) else []
    return {"boards": boards, "phases": phases, "is_scoring": is_scoring}


@register.inclusion_tag("publishing/documents/_team.html", takes_context=True)
def documents_of_team(context: template.Context, team: Team) -> dict[str, object]:
    page = team_documents(context["request"].user, team)
    return context_of(page) | {"csrf_token": context.get("csrf_token")}


@register.inclusion_tag("scoring/leaderboards/_judge_family.html", takes_context=True)
def runs_of_family(context: template.Context, board: Leaderboard) -> dict[str, object]:
    """The runs that use a model of the family of the machine that judged; nothing if there are none."""
    return {"board": board, "runs": runs_of_judge_family(context["request"].user, board)}


@register.inclusion_tag("scoring/phases/_phases.html")
def phases_of_track(track: Track) -> dict[str, object]:
    """The phases of a track, each with a link to its page; nothing if the protocol has none."""
    return {"track": track, "phases": track.protocol.parsed.runs.phases}


@register.inclusion_tag("pooling/pools/_no_collection.html")
def no_collection(track: Track) -> dict[str, object]:
    """Say before a pool is built that assessors will see no text, with a link to the choice of a collection."""
    is_missing = track.collection is None and not track.protocol.parsed.has_own_texts
    return {"track": track, "is_missing": is_missing, "can_choose": "collection" not in fixed_fields(track)}


@register.inclusion_tag("assessment/batches/_missing_texts.html", takes_context=True)
def missing_texts(context: template.Context, pool: Pool) -> dict[str, object]:
    """Say that assessors will not see texts of units of a pool, as long as no batch of it was judged."""
    track = context["track"]
    rows = _checklist_of(context, track).campaign.rows(batches_of)
    batches = [batch for batch in rows if batch.pool_id == pool.pk]
    is_judged = any(batch.status == Batch.Status.CLOSED for batch in batches)
    sentence = "" if is_judged or pool.status != Pool.Status.READY else missing_texts_of(pool, track)
    return {"sentence": sentence, "track": track, "pool": pool, "has_batch": bool(batches)}


@register.simple_tag(takes_context=True)
def released_results(context: template.Context, track: Track) -> SafeString:
    """The rows of the released results and the published runs among the downloads; nothing if there are none."""
    user = context["request"].user
    rows = {"track": track, "files": released_files(user, track), "publication": publication_of(user, track)}
    return SafeString(render_to_string("publishing/published_runs/_results.html", rows).strip())


class JudgedUnits(NamedTuple):
    """The numbers of judged and relevant units of a version of qrels, by topic.

    The organizers left the topics `left_out` out of the version; `dropped` are those with too few relevant units.
    """

    version: int = 0
    by_topic: dict[str, tuple[int, int]] = {}
    left_out: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()


@register.simple_tag(takes_context=True)
def judged_units(context: template.Context, track: Track) -> JudgedUnits:
    """The units in the newest qrels that the reader may see. Those of groups, splits and machines do not count."""
    qrels = newest_of_people(context["request"].user, track)
    if qrels is None:
        return JudgedUnits()
    level = qrels.protocol.parsed.scoring.relevant_from
    omitted = (qrels.left_out_topics, qrels.dropped_topics)  # type: ignore[attr-defined]
    topics = (frozenset(row["topic"] for row in rows or ()) for rows in omitted)
    return JudgedUnits(qrels.version, units_by_topic(qrels, level), *topics)


@register.filter
def counts_in_topic(units: JudgedUnits, code: str) -> tuple[int, int]:
    """The numbers of judged and relevant units of a topic."""
    return units.by_topic.get(code, (0, 0))


@register.simple_tag(takes_context=True)
def published_runs(context: template.Context, track: Track) -> SafeString | str:
    """The number of published runs of the track, with a link; empty if none are published."""
    current = publication_of(context["request"].user, track)
    if current is None:
        return ""
    address = address_of("publishing:publication", track.slug)
    n_runs = counted(len(current.runs), "run")
    heading = gettext("Published runs")
    return format_html('{}: <a href="{}">{}</a>', heading, address, n_runs)
