"""Registers the admin pages of every noun of this app."""

import pooling.pools.admin  # noqa: F401 - registers itself, as those above
