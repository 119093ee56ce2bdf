"""The language of a page: that of the account, or else the browser's first choice that Assay has. Decision: ADR 72.

The pages that assessors open are translated for them, and the pages of errors. Every other page is in English, as is
the API, so that no page mixes languages. The scripts of a page get their words from its catalog of the domain
`djangojs`.
"""

import threading
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils import translation
from django.utils.translation import trans_real
from django.utils.translation.trans_real import DjangoTranslation

from accounts.models import User
from tracks.assessors.selectors import judges_anywhere, judges_for
from web.addresses import belongs_to_track, track_at

SOURCE = settings.LANGUAGE_CODE
FOR_VISITORS = "home", "all_tracks"  # in English for visitors, as are the pages that they lead to
# The views of the other ways to log in, which a site can have
SIGN_IN = frozenset(
    {
        *("sign_in", "sign_in_start", "sign_in_disconnect", "openid_connect_callback", "account_login"),
        *("account_reauthenticate", "mfa_index", "mfa_authenticate", "mfa_reauthenticate"),
        *(
            "mfa_activate_totp",
            "mfa_deactivate_totp",
            "mfa_view_recovery_codes",
            "mfa_generate_recovery_codes",
        ),
    }
)
# The views whose pages and messages are translated. Those of a track are in English for people who oversee it.
TRANSLATED = frozenset(
    {
        *(
            "login",
            "logout",
            "account",
            "password_change",
            "request_link",
            "login_link",
            "assessment:judging",
        ),
        *("assessment:mine", "assessment:back", "assessment:next", "assessment:join", "assessment:accepting"),
        *(
            "assessment:task",
            "assessment:task_frame",
            "assessment:skip",
            "assessment:give_back",
            "assessment:undo",
        ),
        *(
            "assessment:extend",
            "assessment:stored",
            "assessment:done",
            "assessment:guidelines",
            "assessment:keys",
        ),
        *("assessment:guidelines_panel", "assessment:own_judgments", "assessment:own_statistics"),
        *("assessment:discussion", "assessment:preview", "assessment:preview_frame"),
        *("assessment:link", "assessment:link_unit", "assessment:link_frame"),
        *("home", "all_tracks", "participation:invitation_link", "participation:join"),
        *(
            "tracks:guidelines",
            "tracks:guidelines_version",
            "tracks:guidelines_versions",
            "tracks:guidelines_changes",
        ),
        *SIGN_IN,
    }
)


# The views that participants and visitors open too, in English. They are translated for assessors: those of a track
# for its own, the others for people who only judge.
SHARED = frozenset(
    {
        *("tracks:track", "tracks:topics", "tracks:topic", "tracks:downloads", "tracks:site_page"),
        *("tracks:agreement", "tracks:agreement_version", "tracks:accept_agreement"),
        *("tracks:candidate_sample", "tracks:decide", "tracks:undo_decision", "tracks:settle"),
        *("participation:announcements", "participation:interaction", "participation:session"),
        *("participation:start_session", "participation:practice_session", "participation:end_session"),
        *("publishing:documents", "scoring:qrels_list", "scoring:judged_examples", "scoring:leaderboards"),
        *("assessment:nuggets", "assessment:nugget_list", "jobs:jobs", "tokens", "revoke_token"),
        *("sessions", "end_session", "end_other_sessions"),
        *("corpus:collections", "corpus:collection", "corpus:thread", "corpus:formula", "corpus:find"),
        "corpus:find_formula",
    }
)


def _chosen_by(user: object, request: HttpRequest) -> str:
    return getattr(user, "language", "") or translation.get_language_from_request(request)


def use_language(request: HttpRequest, *, has_account: bool = True) -> None:
    """Let the rest of a request be in the language of its reader; without `has_account`, in that of the browser."""
    translation.activate(_chosen_by(getattr(request, "user", None) if has_account else None, request))


def find_texts_directly() -> None:
    """Let English texts be their own translation, without a lookup in the catalogs of all apps.

    Each text, number and address of a page asks for the language. Django keeps it in a place that serves coroutines,
    too, which takes ten calls to read. Nothing here is asynchronous, so the thread's own place does.
    """
    internals: Any = trans_real
    internals._active = threading.local()
    source: Any = trans_real.translation(SOURCE)
    source.gettext = str
    source.ngettext = lambda singular, plural, n: singular if n == 1 else plural


def is_translated(request: HttpRequest) -> bool:
    """Return whether the page of a request is translated for its reader."""
    match = request.resolver_match
    if match is None or match.view_name not in TRANSLATED:
        return False
    if match.view_name in FOR_VISITORS and not request.user.is_authenticated:
        return False
    slug = match.kwargs.get("slug")
    return slug is None or not (isinstance(request.user, User) and request.user.role_at(slug))


def is_shared_with_assessor(request: HttpRequest) -> bool:
    """Return whether a page that others see in English is translated for its reader. One query, none for English."""
    match, user = request.resolver_match, request.user
    if match is None or match.view_name not in SHARED or not isinstance(user, User) or user.is_administrator:
        return False
    if _chosen_by(user, request) == SOURCE:
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
