"""Addresses of the assessment room."""

from django.urls import URLPattern

app_name = "assessment"

urlpatterns: list[URLPattern] = []
