"""Registers the job handlers of imports in every worker."""

import assessment.imports.services  # noqa: F401 - registers its handlers
