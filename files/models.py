"""Files in the storage that no row names."""

from django.db import models
from django.db.models.functions import Now


class UnclaimedFile(models.Model):
    """The name of a file that is being stored or deleted.

    It is committed before the file is stored, and deleted in the transaction that stores the name in another row. So
    what a killed process leaves in the storage is known, and deleted when its time has come.
    """

    name = models.CharField(max_length=255, unique=True)
    delete_after = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.name
