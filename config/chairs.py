"""Templates ask here what to show to the chairs of a track: not what they would be refused. Decision: ADR 65.

Whether a view takes a form from chairs is decided by its decorator (`accounts.access`), and by nothing else. A template
shows a form, or a link to a page that is only a form, `{% if may_change %}`; a test asks the decorators of all targets
whether a page offers a chair something else.
"""

from functools import lru_cache
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.functional import SimpleLazyObject

from accounts.models import User
from web.addresses import belongs_to_track, track_at


def permissions(request: HttpRequest) -> dict[str, object]:
    """`may_change`, unless the user chairs the track of the page, and `may_send`, for a page that is one form.

    A chair may send a form of a view that does not ask for a role in the track, such as one about their own account.
    """
    may_change = SimpleLazyObject(lambda: not is_chair(request))
    is_of_all = request.resolver_match is None or not _is_marked(request.resolver_match, "is_of_organizers")
    return {"may_change": may_change, "may_send": is_of_all or may_change}


def is_chair(request: HttpRequest) -> bool:
    """Return whether the page of a request belongs to a track that its user chairs. No query for others."""
    match = request.resolver_match
    # Public pages do not depend on the user, so it is not looked up for them.
    if match is None or not belongs_to_track(match):
        return False
    user = request.user
    if not isinstance(user, User) or not any(role.is_chair for role in user.roles.values()):
        return False
    role = user.role_at(track_at(match))
    return role is not None and role.is_chair


@lru_cache(maxsize=4096)  # a page has many links, and each takes a third of a millisecond to resolve
def is_refused(address: str) -> bool:
    """Return whether the page at an address is only a form that chairs may not send."""
    try:
        return _is_marked(resolve(urlsplit(address).path), "is_form")
    except (Resolver404, ValueError):
        return False


def _is_marked(match: ResolverMatch, mark: str) -> bool:
    """Return whether the decorator of a view has set a mark."""
    return bool(vars(match.func).get(mark))
