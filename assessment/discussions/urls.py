"""URLs of discussions."""

from django.urls import path

from assessment.discussions import views

urlpatterns = [
    path("judge/batches/<int:batch_id>/discussion/", views.discussion, name="discussion"),
    path("judge/batches/<int:batch_id>/discussion.csv", views.discussion_file, name="discussion_csv"),
    path("judge/batches/<int:batch_id>/discussion/share/", views.share, name="share_discussion"),
    path("judge/batches/<int:batch_id>/discussion/note/", views.note, name="note"),
]
