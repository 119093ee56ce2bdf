"""Refusals about requests to join."""

from assay.errors import Refused


class RequestRefused(Refused):
    """A request that cannot be made or decided now."""

    title = "The request was not changed"
