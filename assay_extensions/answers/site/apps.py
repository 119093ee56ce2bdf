from django.apps import AppConfig


class RubricsConfig(AppConfig):
    name = "assay_extensions.answers.site"
    label = "rubrics"

    def ready(self) -> None:
        """Register the form of imported files, for pages and jobs."""
        import assay_extensions.answers.site.imports  # noqa: F401, PLC0415 -- models are there only now
