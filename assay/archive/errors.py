"""What can be wrong with an archive."""

from assay.errors import BadFile


class BadArchive(BadFile):
    """A file is not an archive of a track, or is damaged."""

    title = "This archive cannot be used"
