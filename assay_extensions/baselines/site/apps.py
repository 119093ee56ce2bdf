from django.apps import AppConfig


class BaselinesConfig(AppConfig):
    name = "assay_extensions.baselines.site"
    label = "baselines"

    def ready(self) -> None:
        """Register the point of the checklist."""
        from assay_extensions.baselines.site import checklist  # noqa: F401, PLC0415 - its models are not ready before
