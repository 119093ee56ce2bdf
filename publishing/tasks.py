"""Registers the job handlers of this app in every worker."""

import publishing.archives.services
import publishing.published_runs.services  # noqa: F401 - both register their handlers
