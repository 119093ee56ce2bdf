"""The Django project. It loads the Celery application, which tasks register with."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
