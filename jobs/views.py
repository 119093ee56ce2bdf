"""Pages of jobs."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from accounts.access import AuthenticatedRequest, user_action, user_page
from accounts.mail.letters import failed_letters
from jobs import selectors, services
from jobs.models import Job
from web.translation import translated_for_assessors

MOST_LETTERS = 20


@translated_for_assessors
@user_page
def jobs(request: AuthenticatedRequest) -> HttpResponse:
    """The newest jobs. Administrators see all, and failed e-mails; others those of their tracks and their own."""
    failed = failed_letters()[:MOST_LETTERS] if request.user.is_administrator else ()
    return render(
        request, "jobs/jobs.html", {"jobs": selectors.jobs_for(request.user)[:100], "letters": failed}
    )


@user_page
def job_page(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """A job with its progress; htmx gets the fragment only. Who sees it in the list."""
    job = get_object_or_404(selectors.jobs_for(request.user), pk=job_id)
    if not request.headers.get("HX-Request"):
        return render(request, "jobs/job.html", {"job": job})
    response = render(request, "jobs/_job.html", {"job": job})
    if job.is_finished:  # the page that waited loses the message of its first display
        if job.state == Job.State.DONE:
            messages.success(request, services.in_words(job))
        response["HX-Refresh"] = "true"
    return response


@user_action
def retry(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """Restart a failed job. Administrators, and organizers of its track."""
    job = selectors.controlled_job(request.user, job_id)
    services.retry(job=job)
    return redirect(job)


@user_action
def cancel(request: AuthenticatedRequest, job_id: int) -> HttpResponse:
    """Cancel a job that is not finished. Administrators, and organizers of its track."""
    job = selectors.controlled_job(request.user, job_id)
    services.cancel(job=job, by=request.user)
    return redirect(job)
