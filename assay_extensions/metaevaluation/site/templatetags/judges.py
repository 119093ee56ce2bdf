"""The tag that returns what a track accepts of judges, for slots of pages of the core."""

from django import template

from assay_extensions.metaevaluation.site.models import JudgeCall
from assay_extensions.metaevaluation.site.selectors import call_of
from tracks.models import Track

register = template.Library()


@register.simple_tag
def judge_call(track: Track) -> JudgeCall | None:
    """Return the call for judges of a track; None without one. One query."""
    return call_of(track)
