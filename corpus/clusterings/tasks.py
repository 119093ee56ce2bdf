"""Registers the job handlers of clusterings in every worker."""

import corpus.clusterings.jobs  # noqa: F401 - registers its handlers
