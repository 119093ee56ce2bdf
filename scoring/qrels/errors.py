"""What the scoring room refuses, each in a whole sentence."""

from assay.errors import Refused


class QrelsRefused(Refused):
    """Qrels that cannot be made."""

    title = "No qrels were made"
