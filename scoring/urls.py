"""Addresses of the scoring room."""

from django.urls import URLPattern

app_name = "scoring"

urlpatterns: list[URLPattern] = []
