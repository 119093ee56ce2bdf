from django.apps import AppConfig


class BattlesConfig(AppConfig):
    name = "assay_extensions.battles.site"
    label = "battles"

    def ready(self) -> None:
        """Register the form of imported files, for pages and jobs."""
        import assay_extensions.battles.site.imports  # noqa: F401, PLC0415 -- models are there only now
