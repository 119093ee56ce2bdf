"""The depth to which a run is pooled, as pages write it."""

from django import template
from django.contrib.humanize.templatetags.humanize import intcomma

from assay.protocols.schema import EVERY_RANK

register = template.Library()


@register.filter
def as_depth(depth: int) -> str:
    """A depth; in words if the strategy of the pool needs none, and every rank counts."""
    return "all ranks" if depth == EVERY_RANK else intcomma(depth)
