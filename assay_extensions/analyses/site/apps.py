from django.apps import AppConfig


class AnalysesConfig(AppConfig):
    name = "assay_extensions.analyses.site"
    label = "analyses"

    def ready(self) -> None:
        """Register the point of the checklist."""
        import assay_extensions.analyses.site.checklist  # noqa: F401, PLC0415 -- models are there only now
