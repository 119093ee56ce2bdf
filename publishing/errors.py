"""Refusals about archives, published runs and the consents of teams."""

from assay.errors import Refused


class ArchiveRefused(Refused):
    title = "The archive was not made"


class LoadRefused(Refused):
    title = "The archive was not loaded"


class PublicationRefused(Refused):
    title = "The runs were not published"


class ConsentRefused(Refused):
    title = "The consent was not recorded"
