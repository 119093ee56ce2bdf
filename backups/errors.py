"""Why a backup or a restore was refused."""

from assay.errors import Refused


class BackupRefused(Refused):
    """No archive was written."""

    title = "No backup was made"


class RestoreRefused(Refused):
    """Nothing was restored: the database and the files are as they were."""

    title = "Nothing was restored"


class DamagedArchive(RestoreRefused):
    """The archive is incomplete, or a member does not have its digest."""


class NewerDatabase(Refused):
    """The database was migrated by a version of Assay that this one does not know."""

    title = "The database is of another version of Assay"
