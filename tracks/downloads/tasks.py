"""Registers the job handlers of downloads in every worker."""

import tracks.downloads.jobs  # noqa: F401 - registers its handlers
