"""Pages of jobs."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from accounts.access import AuthenticatedRequest, organizer_required, person_required
from jobs import selectors
from jobs import services as job_services


@person_required
@require_GET
def jobs(request: AuthenticatedRequest) -> HttpResponse:
    """What the workers do and did. Organizers only."""
    return render(request, "jobs/jobs.html", {"jobs": selectors.jobs_for(request.user)[:100]})


@person_required
@require_GET
def job(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """One job's progress; the fragment alone for htmx. Organizers, and whoever asked for the job."""
    found = get_object_or_404(selectors.jobs_for(request.user), pk=job_id)
    if not request.headers.get("HX-Request"):
        return render(request, "jobs/job.html", {"job": found})
    response = render(request, "jobs/_job.html", {"job": found})
    if found.is_finished:
        response["HX-Refresh"] = "true"
    return response


@require_POST
@organizer_required
def retry(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """Give a failed job a fresh start. Organizers only."""
    found = get_object_or_404(selectors.jobs_for(request.user), pk=job_id)
    job_services.retry(job=found)
    return redirect(found)
