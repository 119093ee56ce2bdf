"""The job handler that blinds runs, which every worker needs."""

import assay_extensions.blinding.site.services  # noqa: F401 - registers its handler
