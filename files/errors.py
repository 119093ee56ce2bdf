"""Why a file cannot be stored."""

from assay.errors import Refused


class NotStored(Refused):
    """The storage did not take a file: it is full, or it does not answer."""

    title = "The file could not be stored"
