"""Refusals about lists of people."""

from assay.errors import Refused


class PeopleRefused(Refused):
    """A list of people that cannot be carried out."""

    title = "Nobody was added"
