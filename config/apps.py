from django.apps import AppConfig

from config import checks, reversals


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        checks.register_all()
        reversals.connect()
