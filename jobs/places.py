"""The places where a job can run. A place is the name of a queue in Celery; a job without a place can run anywhere."""

from pathlib import Path

from django.conf import settings

IMPORT_FOLDER = "import-folder"  # any worker that sees ASSAY_IMPORT_DIR


def this_host() -> str:
    """The place of jobs that read the disk of this machine."""
    return f"host.{settings.HOST_NAME}"


def offered() -> set[str]:
    """The places of this process."""
    sees_folder = bool(settings.IMPORT_DIR) and Path(settings.IMPORT_DIR).is_dir()
    return {"", this_host(), *([IMPORT_FOLDER] if sees_folder else [])}
