"""The folder of files, and the archive, of the tests of archives."""

from tests.publishing.archives.conftest import _alone, archive_file

__all__ = ["_alone", "archive_file"]
