"""A tag that shows a link to the published runs on pages of the apps below this one."""

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from publishing.published_runs import selectors
from tracks.models import Track
from web.counting import counted

register = template.Library()


@register.inclusion_tag("publishing/published_runs/_download.html")
def published_archive(track: Track) -> dict[str, object]:
    """The archive of the published runs among the downloads of a track; nothing if there is none."""
    return {"track": track, "publication": selectors.publication_of(track)}


@register.simple_tag
def published_runs(track: Track) -> SafeString | str:
    """A fact of the track, if its runs are published: how many, with a link."""
    current = selectors.publication_of(track)
    if current is None:
        return ""
    address = reverse("publishing:publication", args=[track.slug])
    n_runs = counted(len(current.runs), "run")
    return format_html('<dt>Published runs</dt><dd><a href="{}">{}</a></dd>', address, n_runs)
