"""Registers the job handlers of pools in every worker."""

import pooling.pools.preview_services  # registers its handlers
import pooling.pools.services  # noqa: F401 - registers its handlers
