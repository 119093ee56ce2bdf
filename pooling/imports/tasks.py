"""Registers the job handlers of imports of runs in every worker."""

import pooling.imports.services  # noqa: F401 - registers its handlers
