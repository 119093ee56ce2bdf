"""Registers the admin pages of every noun of this app."""

import assessment.batches.admin
import assessment.judgments.admin  # noqa: F401 - registers itself, as those above
