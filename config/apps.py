# ruff: noqa: F401, PLC0415 - models are there only in `ready`, and points register themselves
from django.apps import AppConfig

from config import checks, reversals


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        """Register the checks of `manage.py check` and the points of the checklist, refuse migrations that would drop
        data, and record logins.
        """
        import assessment.checklist
        import participation.checklist
        import pooling.checklist
        import publishing.checklist
        import scoring.checklist
        import tracks.checklist.set_up
        from accounts.sessions import services as sessions

        sessions.connect()
        checks.register_all()
        reversals.connect()
