from django.apps import AppConfig

from config import checks, reversals


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        """Register the checks of `manage.py check`, and refuse migrations that would drop data."""
        checks.register_all()
        reversals.connect()
