from django.apps import AppConfig

from config import checks


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        checks.register_all()
