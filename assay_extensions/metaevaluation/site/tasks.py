"""The job that compares judges with people; it registers itself in every worker."""

import assay_extensions.metaevaluation.site.comparing  # noqa: F401
