"""Addresses of the corpus room."""

from django.urls import URLPattern

app_name = "corpus"

urlpatterns: list[URLPattern] = []
