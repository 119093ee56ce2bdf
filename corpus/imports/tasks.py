"""Loads the job handlers of imports into every worker."""

import corpus.imports.jobs  # noqa: F401 - registers its handlers
