"""The job of an analysis; it registers itself in every worker."""

import assay_extensions.analyses.site.services  # noqa: F401
