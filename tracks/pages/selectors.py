"""The texts of the site. Until an organizer publishes one, a text that is true of the software itself is shown."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path

from django.utils.safestring import SafeString

from tracks.markdown import after_first_paragraph, plain_html
from tracks.models import SitePage
from web.statements import Prepared

DEFAULTS = Path(__file__).with_name("defaults")


@dataclass(frozen=True)
class PageText:
    """A text in force; `number` is 0 for the one that comes with the software."""

    name: str
    title: str
    text: str
    html: SafeString
    number: int = 0
    published_at: datetime | None = None

    @property
    def opening(self) -> SafeString:
        """The first paragraph; the whole text if it begins otherwise."""
        first, rest = after_first_paragraph(self.html)
        return SafeString(first or rest)


@cache
def default_text(name: str) -> PageText:
    """The text that comes with the software."""
    text = (DEFAULTS / f"{SitePage.Name(name).value}.md").read_text(encoding="utf-8")
    return PageText(name, SitePage.Name(name).label, text, SafeString(plain_html(text)))


_NEWEST = Prepared(lambda name: SitePage.objects.filter(name=name).order_by("-number")[:1])


def page_text(name: str) -> PageText:
    """The text in force. One query."""
    page = _NEWEST.first(name=name)
    if page is None:
        return default_text(name)
    return PageText(
        name, page.get_name_display(), page.text, SafeString(page.html), page.number, page.published_at
    )
