"""Registers the job handlers of this app in every worker, and cleans what builds left behind."""

from celery import shared_task

import corpus.clusterings.jobs
import corpus.imports.jobs  # noqa: F401 - both register their handlers
from corpus.builds import services as builds


@shared_task(name="corpus.tasks.delete_work_folders", ignore_result=True)
def delete_work_folders() -> None:
    """Delete the working folders on this machine of builds that are imported or not known here."""
    builds.delete_work_folders()
