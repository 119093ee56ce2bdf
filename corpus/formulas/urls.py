"""URLs of formulas."""

from django.urls import path

from corpus.formulas import views

urlpatterns = [
    path("collections/<slug:slug>/formulas/", views.formulas, name="formulas"),
    path("collections/<slug:slug>/formulas/<path:code>/", views.formula, name="formula"),
    path("collections/<slug:slug>/find-formula/", views.find_formula, name="find_formula"),
]
