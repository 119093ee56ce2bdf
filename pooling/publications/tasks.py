"""Registers the job handler of publications in every worker."""

import pooling.publications.services  # noqa: F401 - registers its handler
