"""URLs of jobs."""

from django.urls import path

from jobs import views

app_name = "jobs"

urlpatterns = [
    path("jobs/", views.jobs, name="jobs"),
    path("jobs/<int:job_id>/", views.job_page, name="job"),
    path("jobs/<int:job_id>/retry/", views.retry, name="retry"),
    path("jobs/<int:job_id>/cancel/", views.cancel, name="cancel"),
]
