"""Template tags of every page: the tabs of a track, times, and counted nouns."""

from datetime import datetime
from typing import NamedTuple

from django import template
from django.contrib.auth.models import AnonymousUser
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from accounts.models import User
from config.steps import steps_for
from tracks.assessors.selectors import is_assessor
from tracks.models import Track

register = template.Library()


class Tab(NamedTuple):
    label: str
    address: str
    is_current: bool


@register.inclusion_tag("components/tabs.html", takes_context=True)
def track_tabs(context: template.Context, track: Track) -> dict[str, list[Tab]]:
    """The tabs of a track that the person who asks can use; the pages behind them check for themselves."""
    request = context["request"]
    tabs = []
    for label, name in _pages(request.user, track):
        address = reverse(name, args=[track.slug])
        is_current = request.path == address or (
            name != "tracks:track" and context.get("tab", "") == name.split(":")[1]
        )
        tabs.append(Tab(label, address, is_current))
    return {"tabs": tabs}


def _pages(user: User | AnonymousUser, track: Track) -> list[tuple[str, str]]:
    """Label and URL name of each page of a track that is of use to the person."""
    is_organizer = isinstance(user, User) and user.is_organizer
    judges = is_assessor(user, track)
    wanted = [
        ("Overview", "tracks:track", True),
        ("Topics", "tracks:topics", True),
        ("Runs", "pooling:runs", user.is_authenticated and not judges),
        ("Pools", "pooling:pools", is_organizer),
        ("Judging", "assessment:judging", is_organizer or judges),
        ("Qrels", "scoring:qrels_list", True),
        ("Leaderboard", "scoring:leaderboards", True),
    ]
    return [(label, name) for label, name, is_wanted in wanted if is_wanted]


@register.inclusion_tag("components/steps.html", takes_context=True)
def campaign_steps(context: template.Context, track: Track) -> dict[str, object]:
    """What the person who asks does next in a track."""
    return steps_for(context["request"].user, track)


@register.simple_tag
def time_of(moment: datetime | None) -> SafeString | str:
    """A moment in UTC, to the minute, with the exact one for machines."""
    if moment is None:
        return "–"
    utc = localtime(moment)
    return format_html('<time datetime="{}">{} UTC</time>', utc.isoformat(), utc.strftime("%Y-%m-%d %H:%M"))


@register.simple_tag
def day_of(moment: datetime | None) -> SafeString | str:
    """The day of a moment in UTC."""
    if moment is None:
        return "–"
    utc = localtime(moment)
    return format_html('<time datetime="{}">{}</time>', utc.isoformat(), utc.strftime("%Y-%m-%d"))


@register.filter
def counted(n: int, noun: str) -> str:
    """`3 runs`, `1 run`; give the plural after a comma where it is not noun + s: `"batch,batches"`."""
    singular, _, plural = noun.partition(",")
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
