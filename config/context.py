"""What the frame of every page knows of the person who asks."""

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from tracks.assessors.selectors import judges_anywhere


def person(request: HttpRequest) -> dict[str, object]:
    """`is_assessor`: whether they judge for any track. A query, which only a page with the site's head makes."""
    return {"is_assessor": SimpleLazyObject(lambda: judges_anywhere(request.user))}
