"""Loads the job handlers of pools into every worker."""

import pooling.pools.services  # noqa: F401 - registers its handlers
