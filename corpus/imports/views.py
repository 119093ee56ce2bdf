"""The pages with which organizers import collections."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_safe

from accounts.access import AuthenticatedRequest, creator_required
from corpus.collections.selectors import collections_for, import_jobs
from corpus.imports import selectors, services
from corpus.imports.forms import ImportForm
from jobs.selectors import jobs_for
from web.forms import refusals_in
from web.pages import context_of, read_and_post


@require_safe
@creator_required
def imports(request: AuthenticatedRequest) -> HttpResponse:
    """All imports, newest first. Organizers only."""
    jobs = import_jobs().filter(pk__in=jobs_for(request.user).order_by().values("pk"))
    return render(request, "corpus/imports/imports.html", {"jobs": jobs[:100]})


@require_safe
@creator_required
def collection_imports(request: AuthenticatedRequest, slug: str) -> HttpResponse:
    """The imports into one collection. Organizers only."""
    collection = get_object_or_404(collections_for(request.user), slug=slug)
    jobs = import_jobs(collection)[:100]
    return render(request, "corpus/imports/imports.html", {"collection": collection, "jobs": jobs})


@require_safe
@creator_required
def import_job(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """One import: its progress, what was imported, and what was skipped and why. Organizers only."""
    get_object_or_404(jobs_for(request.user), pk=job_id)
    job = get_object_or_404(import_jobs(), pk=job_id)
    return render(request, "corpus/imports/import.html", context_of(selectors.import_page(job, request.user)))


@read_and_post
@creator_required
def start_import(request: AuthenticatedRequest) -> HttpResponse:
    """Start an import. Organizers only."""
    form = ImportForm(
        request.POST or None, request.FILES or None, initial=request.GET.dict(), user=request.user
    )
    with refusals_in(form):
        if form.is_valid():
            job = services.import_upload_or_path(by=request.user, **form.arguments)
            return redirect("corpus:import", job.pk)
    return render(request, "corpus/imports/start.html", {"form": form})
