"""Jobs for programs."""

from django.shortcuts import get_object_or_404
from django.urls import path, reverse
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.access import user_of
from jobs import selectors, services
from jobs.models import Job
from web.api.permissions import Organizer
from web.api.schema import operation
from web.api.views import ApiView, ListView, accepted


class JobSerializer(serializers.ModelSerializer[Job]):
    """Long work and its state."""

    url = serializers.SerializerMethodField(help_text="The address of this job in the API.")
    total = serializers.IntegerField(
        allow_null=True, help_text="How much there is to do, in units of the job; null: not known."
    )
    created_by = serializers.CharField(source="created_by.username", default=None, allow_null=True)
    result = serializers.DictField(help_text="What came out, when the job is done: numbers and ids.")

    class Meta:
        model = Job
        fields = [
            "id",
            "url",
            "kind",
            "title",
            "subject",
            "state",
            "done",
            "total",
            "message",
            "result",
            "error",
            "created_at",
            "started_at",
            "finished_at",
            "created_by",
        ]

    def get_url(self, job: Job) -> str:
        return reverse("api:job", args=[job.pk])


class JobList(ListView):
    tag = "Jobs"
    serializer_class = JobSerializer
    ordering = ("-pk",)

    @operation("list_jobs")
    def get(self, request: Request) -> Response:
        """List jobs, newest first.

        Organizers see all jobs, others those that they requested.
        """
        return self.listed(selectors.jobs_for(user_of(request)), JobSerializer)


class JobDetail(ApiView):
    tag = "Jobs"
    serializer_class = JobSerializer

    @operation("get_job")
    def get(self, request: Request, job_id: int) -> Response:
        """Read the state of a job.

        Repeat this with the `ETag` until `state` is `done` or `failed`. A failed job has the reason in `error`.
        """
        job = get_object_or_404(selectors.jobs_for(user_of(request)), pk=job_id)
        return Response(JobSerializer(job).data)


class JobRetry(ApiView):
    tag = "Jobs"
    permission_classes = [Organizer]
    serializer_class = JobSerializer

    @operation("retry_job", request=None, responses={202: JobSerializer})
    def post(self, request: Request, job_id: int) -> Response:
        """Restart a failed job."""
        job = get_object_or_404(selectors.jobs_for(user_of(request)), pk=job_id)
        services.retry(job=job)
        job.refresh_from_db()
        return accepted(JobSerializer(job).data, job.pk)


urlpatterns = [
    path("jobs/", JobList.as_view(), name="jobs"),
    path("jobs/<int:job_id>/", JobDetail.as_view(), name="job"),
    path("jobs/<int:job_id>/retry/", JobRetry.as_view(), name="retry_job"),
]
