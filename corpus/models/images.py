"""Images of a collection."""

from django.db import models

from corpus.models.collections import Collection


class Image(models.Model):
    """An image that Assay serves itself, in the place of one to which posts refer.

    The file is not the imported one: Assay decodes that and encodes it again (`corpus.images.encoding`).
    """

    class ContentType(models.TextChoices):
        PNG = "image/png", "PNG"
        JPEG = "image/jpeg", "JPEG"
        WEBP = "image/webp", "WebP"

    id = models.BigAutoField(primary_key=True)
    collection = models.ForeignKey(Collection, models.PROTECT, related_name="images")
    name = models.TextField(
        db_collation="C", help_text="Path in the imported folder. The URLs in posts end in it."
    )
    file = models.FileField(max_length=255)
    sha256 = models.CharField(max_length=64, help_text="Of the file.")
    content_type = models.CharField(max_length=20, choices=ContentType)
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    n_bytes = models.PositiveIntegerField()

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["collection", "name"], name="image_name_unique")]
        indexes = [models.Index(fields=["collection", "sha256"], name="image_sha256")]

    def __str__(self) -> str:
        return self.name
