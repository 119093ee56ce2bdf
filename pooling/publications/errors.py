"""Refusals about published runs."""

from assay.errors import Refused


class PublicationRefused(Refused):
    title = "The runs were not published"


class ConsentRefused(Refused):
    title = "The consent was not recorded"
