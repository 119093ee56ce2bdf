from django.urls import path

from assay_extensions.turkle.site import views
from web.slots import fill

app_name = "turkle"
urlpatterns = [
    path("projects/", views.projects, name="projects"),
    path("projects/<int:upload_id>/", views.project_import, name="project_import"),
    path("projects/<int:upload_id>/run/", views.run, name="run_project_import"),
    path("projects/<int:upload_id>/discard/", views.discard, name="discard_project_import"),
]

fill("home-menu", "turkle/_link.html")
