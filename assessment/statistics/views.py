"""The page of an assessor's own statistics."""

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required
from assessment.statistics import selectors
from web.pages import context_of


@require_safe
@never_cache
@login_required
def own_statistics(request: AuthenticatedRequest) -> HttpResponse:
    """The user's judgments per day, their choices and their time. Every logged-in user, for themselves."""
    page = selectors.statistics_page(request.user, request.GET.get("of", ""))
    if page is None:
        raise Http404
    return render(request, "assessment/statistics/own_statistics.html", context_of(page))
