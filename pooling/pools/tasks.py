"""Registers the job handlers of pools in every worker."""

import pooling.pools.services  # noqa: F401 - registers its handlers
