"""Loads the job handlers of clusterings into every worker."""

import corpus.clusterings.jobs  # noqa: F401 - registers its handlers
