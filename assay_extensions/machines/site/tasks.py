"""The job handler that lets machines judge, which every worker needs."""

import assay_extensions.machines.site.jobs  # noqa: F401 - registers its handler
