"""The list of collections. `corpus.threads` has the page of one."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, login_required
from corpus.collections import selectors


@require_safe
@login_required
def collections(request: AuthenticatedRequest) -> HttpResponse:
    """The collections that the user may read. Everyone who has logged in."""
    collections = selectors.collections_for(request.user)
    return render(request, "corpus/collections/collections.html", {"collections": collections})
