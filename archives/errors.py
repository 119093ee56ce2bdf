"""Refusals about archives."""

from assay.errors import Refused


class ArchiveRefused(Refused):
    """An archive cannot be made now."""

    title = "The archive was not made"


class LoadRefused(Refused):
    """An archive cannot be loaded."""

    title = "The archive was not loaded"
