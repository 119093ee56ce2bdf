"""Qrels to hand on. Thin: find through a selector, check the form, answer."""

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from accounts.access import AuthenticatedRequest, organizer_required
from assay.formats.qrels.exports import SplitError
from scoring.qrels import exports, selectors
from scoring.qrels.forms import ExportForm
from web.downloads import download


@require_GET
@never_cache
def export(request: HttpRequest, qrels_id: int) -> HttpResponseBase:
    """A version in a form of one's choice, perhaps split by topic. Whoever sees its page."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    form = ExportForm(request.GET if "to" in request.GET else None)
    if form.is_valid():
        try:
            package = exports.qrels_package(found, **form.cleaned_data)
            return download(package, f"{exports.file_stem(found)}.zip")
        except SplitError as error:
            form.add_error("test_share", f"{error}.")
    return render(
        request,
        "scoring/qrels/export.html",
        {"track": found.track, "qrels": found, "form": form, "tab": "qrels_list"},
    )


@require_GET
@never_cache
@organizer_required
def judgments(request: AuthenticatedRequest, qrels_id: int) -> HttpResponseBase:
    """The judgments of a version's track, without names. Organizers only."""
    found = get_object_or_404(selectors.qrels_for(request.user), pk=qrels_id)
    name = f"judgments.{found.track.slug}.v{found.version}.zip"
    return download(exports.judgments_package(found), name)
