from django.apps import AppConfig


class AssessmentConfig(AppConfig):
    name = "assessment"

    def ready(self) -> None:
        """Let hidden checks follow the work of batches, in each process."""
        import assessment.checks.services  # noqa: F401, PLC0415 - models cannot be imported earlier
