"""Refusals about tracks."""

from assay.errors import Refused


class TrackRefused(Refused):
    """A change of a track that its state does not allow."""
