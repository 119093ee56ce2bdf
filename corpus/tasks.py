"""Registers the job handlers of this app in every worker."""

import corpus.clusterings.jobs
import corpus.imports.jobs  # noqa: F401 - both register their handlers
