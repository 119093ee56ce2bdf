"""URLs of data agreements."""

from django.urls import path

from tracks.agreements import views

urlpatterns = [
    path("tracks/<slug:slug>/data-agreement/", views.agreement, name="agreement"),
    path("tracks/<slug:slug>/data-agreement/accept/", views.accept, name="accept_agreement"),
    path("tracks/<slug:slug>/data-agreement/edit/", views.edit, name="edit_agreement"),
    path("tracks/<slug:slug>/data-agreement/<int:number>/", views.version, name="agreement_version"),
]
