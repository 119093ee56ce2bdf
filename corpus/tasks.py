"""Registers the job handlers of this app in every worker."""

import corpus.clusterings.jobs
import corpus.collections.services
import corpus.imports.jobs  # noqa: F401 - all register their handlers
