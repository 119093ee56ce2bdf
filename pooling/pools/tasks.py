"""Registers the job handlers of pools in every worker."""

import pooling.pools.preview_services  # registers its handlers
import pooling.pools.services  # registers its handlers
import pooling.runs.change_services  # noqa: F401 - registers its handler
