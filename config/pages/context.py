"""The context of the frame of every page."""

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from config.pages.help import page_for
from tracks.assessors.selectors import judges_anywhere


def frame(request: HttpRequest) -> dict[str, object]:
    """`is_assessor`, whether the user judges in any track, and `help_address`, the documentation of this page.

    `is_assessor` takes one query, and only on a page that shows the site's header.
    """
    # An error page may have no view.
    match = request.resolver_match
    page, _, anchor = page_for(match.view_name if match else "").partition("#")
    address = reverse("documentation", args=[page])
    return {
        "is_assessor": SimpleLazyObject(lambda: judges_anywhere(request.user)),
        "help_address": f"{address}#{anchor}" if anchor else address,
    }
