"""Refusals about teams."""

from assay.errors import Refused


class TeamRefused(Refused):
    """A team that cannot be made, or a person who cannot be in it."""

    title = "The team was not changed"
