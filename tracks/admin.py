"""Registers the admin pages of every noun of this app."""

import tracks.protocols.admin
import tracks.topics.admin  # noqa: F401 - registers itself, as those above
