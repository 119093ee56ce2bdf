"""The job handlers of builds and leaks, which every worker needs, and a task that cleans what builds left behind."""

from celery import shared_task

import assay_extensions.building.site.builds.jobs
import assay_extensions.building.site.leaks.jobs  # noqa: F401 - both register their handlers
from assay_extensions.building.site.builds import folders


@shared_task(name="corpus.tasks.delete_work_folders", ignore_result=True)
def delete_work_folders() -> None:
    """Delete the working folders on this machine of builds that are imported, changed or deleted."""
    folders.delete_work_folders()
