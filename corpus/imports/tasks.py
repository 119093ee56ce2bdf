"""Registers the job handlers of imports in every worker."""

import corpus.imports.jobs  # noqa: F401 - registers its handlers
