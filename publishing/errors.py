"""Refusals about archives and published runs."""

from assay.errors import Refused


class ArchiveRefused(Refused):
    title = "The archive was not made"


class LoadRefused(Refused):
    title = "The archive was not loaded"


class PublicationRefused(Refused):
    title = "The runs were not published"
