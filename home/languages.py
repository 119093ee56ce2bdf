"""The language of a page: that of the account, or else the browser's first choice that Assay has. Decision: ADR 72.

The pages that assessors open are translated for them (`web.translation` marks their views), and the pages of errors.
Every other page is in English, as is the API, so that no page mixes languages. The scripts of a page get their words
from its catalog of the domain `djangojs`.
"""

from functools import cache

from django.conf import settings
from django.http import HttpRequest
from django.urls import ResolverMatch
from django.utils import translation
from django.utils.translation.trans_real import DjangoTranslation

from accounts.models import User
from tracks.assessors.selectors import judges_anywhere, judges_for
from web.addresses import belongs_to_track, track_at
from web.translation import ASSESSORS, USERS, readers_of

SOURCE = settings.LANGUAGE_CODE


def _chosen_by(user: object, request: HttpRequest) -> str:
    return getattr(user, "language", "") or translation.get_language_from_request(request)


def use_language(request: HttpRequest, *, has_account: bool = True) -> None:
    """Let the rest of a request be in the language of its reader; without `has_account`, in that of the browser."""
    translation.activate(_chosen_by(getattr(request, "user", None) if has_account else None, request))


def is_translated(request: HttpRequest) -> bool:
    """Return whether the page of a request is translated for its reader. One query at most, none for English."""
    match = request.resolver_match
    readers = readers_of(match.func) if match else ""
    if match is None or not readers:
        return False
    user = request.user
    if readers == ASSESSORS:
        return isinstance(user, User) and _chosen_by(user, request) != SOURCE and _judges_only(user, match)
    if readers == USERS and not user.is_authenticated:
        return False
    slug = match.kwargs.get("slug")
    return slug is None or not (isinstance(user, User) and user.role_at(slug))


def _judges_only(user: User, match: ResolverMatch) -> bool:
    """Return whether a user judges in the track of a page, or anywhere if it is of none, and oversees nothing there."""
    if user.is_administrator:
        return False
    if not belongs_to_track(match):
        return not user.roles and judges_anywhere(user)
    track = track_at(match)
    return user.role_at(track) is None and judges_for(user, track)


@cache
def words_of_scripts(language: str) -> dict[str, str]:
    """The translations of the words that scripts write, by the English ones; none for English."""
    if language == SOURCE:
        return {}
    folders = [str(folder) for folder in settings.LOCALE_PATHS]
    translated = DjangoTranslation(language, domain="djangojs", localedirs=folders)
    catalog = translated._catalog  # type: ignore[attr-defined]  # as Django's own view for scripts
    return {source: text for source, text in catalog.items() if isinstance(source, str) and source}
