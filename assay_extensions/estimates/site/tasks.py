"""The jobs that draw samples and compute estimates; they register themselves in every worker."""

import assay_extensions.estimates.site.services  # noqa: F401
