from django.apps import AppConfig

from config import checks, reversals


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        """Register the checks of `manage.py check`, refuse migrations that would drop data, and record logins."""
        from accounts.sessions import services as sessions  # noqa: PLC0415 - models are there only now

        sessions.connect()
        checks.register_all()
        reversals.connect()
