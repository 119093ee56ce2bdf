"""The language of a page: that of the account, or else the browser's first choice that Assay has. Decision: ADR 72.

The pages of assessors are translated, and the pages of errors. Every other page is in English, as is the API, so that
no page mixes languages. The scripts of a page get their words from its catalog of the domain `djangojs`.
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
# The views whose pages and messages are translated. Those of a track are in English for who oversees it.
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


def use_language(request: HttpRequest, *, has_account: bool = True) -> None:
    """Let the rest of a request be in the language of its reader; without `has_account`, in that of the browser."""
    chosen = getattr(getattr(request, "user", None), "language", "") if has_account else ""
    translation.activate(chosen or translation.get_language_from_request(request))


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


@cache
def words_of_scripts(language: str) -> dict[str, str]:
    """The translations of the words that scripts write, by the English ones; none for English."""
    if language == SOURCE:
        return {}
    folders = [str(folder) for folder in settings.LOCALE_PATHS]
    translated = DjangoTranslation(language, domain="djangojs", localedirs=folders)
    catalog = translated._catalog  # type: ignore[attr-defined]  # as Django's own view for scripts
    return {source: text for source, text in catalog.items() if isinstance(source, str) and source}
