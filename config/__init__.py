"""The Django project; the Celery application is loaded with it, so that tasks find it."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
