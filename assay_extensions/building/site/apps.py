from django.apps import AppConfig


class BuildingConfig(AppConfig):
    name = "assay_extensions.building.site"
    label = "building"

    def ready(self) -> None:
        """Register the point of the checklist."""
        from assay_extensions.building.site import checklist  # noqa: F401, PLC0415 - its models are not ready before
