from django.apps import AppConfig


class MetaevaluationConfig(AppConfig):
    name = "assay_extensions.metaevaluation.site"
    label = "metaevaluation"

    def ready(self) -> None:
        """Register the point of the checklist."""
        import assay_extensions.metaevaluation.site.checklist  # noqa: F401, PLC0415 -- models are there only now
