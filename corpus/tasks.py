"""Registers the job handlers of this app in every worker, and cleans what builds left behind."""

from celery import shared_task

import corpus.builds.jobs
import corpus.clusterings.jobs
import corpus.collections.services
import corpus.imports.jobs  # noqa: F401 - all register their handlers
from corpus.builds import folders


@shared_task(name="corpus.tasks.delete_work_folders", ignore_result=True)
def delete_work_folders() -> None:
    """Delete the working folders on this machine of builds that are imported, changed or deleted."""
    folders.delete_work_folders()
