"""URLs of tasks."""

from django.urls import path

from assessment.tasks import views

urlpatterns = [
    path("judge/", views.mine, name="mine"),
    path("judge/back/", views.back, name="back"),
    path("judge/highlighting/", views.highlighting, name="highlighting"),
    path("judge/batches/<int:batch_id>/next/", views.next_task, name="next"),
    path("judge/next/", views.accepting, name="accepting"),
    path("judge/batches/<int:batch_id>/stored/", views.stored, name="stored"),
    path("judge/batches/<int:batch_id>/done/", views.done, name="done"),
    path("judge/tasks/<int:task_id>/", views.task, name="task"),
    path("judge/tasks/<int:task_id>/skip/", views.skip, name="skip"),
    path("judge/tasks/<int:task_id>/return/", views.give_back, name="give_back"),
    path("judge/tasks/<int:task_id>/undo/", views.undo, name="undo"),
    path("judge/tasks/<int:task_id>/extend/", views.extend, name="extend"),
]
