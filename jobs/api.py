"""Jobs for programs."""

from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request

from accounts.access import person_of, user_of
from jobs import selectors, services
from jobs.models import Job
from web.api.answers import answer
from web.api.filters import Filter
from web.api.permissions import LoggedIn
from web.api.serializers import Address
from web.api.views import Endpoints, accepted, get, post

JobSerializer = answer(
    Job,
    "Job",
    "id url kind title subject status=state n_done=done n_total=total message result error created_at started_at "
    "finished_at created_by=created_by.username",
    url=Address("api:job", help_text="The address of this job in the API."),
    n_total="In units of the job; null: not known.",
    result=serializers.DictField(help_text="What came out, when the job is done: numbers and ids."),
)


class Jobs(Endpoints):
    tag = "Jobs"

    @get(
        "jobs/",
        "jobs",
        JobSerializer,
        ordering=("-pk",),
        filters=[Filter("status", "state", values=Job.State.values), Filter("kind")],
        searches=("title", "subject"),
        orders=["created_at"],
    )
    def list_jobs(self, request: Request) -> object:
        """List jobs, newest first.

        Administrators see all jobs, others those of the tracks that they organize and those that they requested.
        """
        return selectors.jobs_for(user_of(request))

    @get("jobs/<int:job_id>/", "job", JobSerializer)
    def get_job(self, request: Request, job_id: int) -> object:
        """Read the status of a job.

        Repeat this with the `ETag` until `status` is `done` or `failed`. A failed job has the reason in `error`.
        """
        return get_object_or_404(selectors.jobs_for(user_of(request)), pk=job_id)

    @post("jobs/<int:job_id>/retry/", "retry_job", JobSerializer, status=202, who=[LoggedIn])
    def retry_job(self, request: Request, job_id: int) -> object:
        """Restart a failed job."""
        job = selectors.controlled_job(user_of(request), job_id)
        services.retry(job=job)
        job.refresh_from_db()
        return accepted(JobSerializer(job).data, job.pk)

    @post("jobs/<int:job_id>/cancel/", "cancel_job", JobSerializer, who=[LoggedIn])
    def cancel_job(self, request: Request, job_id: int) -> object:
        """Cancel a job that is not finished. It becomes `failed`, stores nothing more, and can be restarted."""
        job = selectors.controlled_job(user_of(request), job_id)
        services.cancel(job=job, by=person_of(request))
        job.refresh_from_db()
        return job


urlpatterns = Jobs.urls()
