"""Addresses of the pooling room."""

from django.urls import URLPattern

app_name = "pooling"

urlpatterns: list[URLPattern] = []
