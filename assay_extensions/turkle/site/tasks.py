"""The job handlers of imports of projects, which every worker needs."""

import assay_extensions.turkle.site.services  # noqa: F401 - registers its handlers
