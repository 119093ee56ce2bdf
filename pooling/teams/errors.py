"""Refusals about teams."""

from assay.errors import Refused


class TeamRefused(Refused):
    """A team that cannot be created, or a user who cannot be a member."""

    title = "The team was not changed"
