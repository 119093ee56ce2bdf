"""Registers the admin pages of every noun of this app."""

import corpus.collections.admin
import corpus.imports.admin  # noqa: F401 - registers itself, as those above
