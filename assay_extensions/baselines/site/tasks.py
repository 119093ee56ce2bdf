"""The job handler that makes baselines, which every worker needs."""

import assay_extensions.baselines.site.services  # noqa: F401 - registers its handler
