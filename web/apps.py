from django.apps import AppConfig

from web import converters


class WebConfig(AppConfig):
    name = "web"

    def ready(self) -> None:
        converters.register()
