"""Collections that the site builds from a dump or from documents."""

from django.db import models

from corpus.models.documents import Collection
from jobs.models import Job
from web.models import JsonField
from web.slots import address_if_known


class Build(models.Model):
    """A collection that a job cuts from a source. `sources` are locations as of imports, with the names of the files.

    `settings` are those of `assay_extensions.building`, and `manifest` is what it made, with counts and digests.
    """

    JOB = "corpus.builds.build"  # the kind of the jobs

    collection = models.OneToOneField(Collection, models.PROTECT, related_name="build")
    sources = JsonField(default=list)
    settings = JsonField(default=dict)
    removed = JsonField(
        default=list, help_text="The ids of posts that are left out, after a check for leaks."
    )
    converter = models.CharField(
        max_length=20, blank=True, help_text="Of LaTeX to MathML. Empty: formulas stay LaTeX."
    )
    manifest = JsonField(default=dict)
    conversion = JsonField(
        default=dict, help_text="The converter, and the formulas without MathML by representation."
    )
    work_bytes = models.BigIntegerField(default=0, help_text="Size of the working folder.")
    work_host = models.CharField(max_length=255, blank=True, help_text="The machine that has it.")
    job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    import_job = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"build of {self.collection}"

    def get_absolute_url(self) -> str:
        return address_if_known("building:build", self.collection.slug)


class ConversionPart(models.Model):
    """Formulas of a build that any worker converts: JSON, packed. Deleted when the build has its results.

    `holder` is the job that converts them. Its claim is void if that job is lost, finished or taken over.
    """

    build = models.ForeignKey(Build, models.CASCADE, related_name="parts")
    formulas = models.BinaryField()
    results = models.BinaryField(null=True)
    holder = models.ForeignKey(Job, models.PROTECT, null=True, related_name="+")
    holder_attempt = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"part {self.pk} of the {self.build}"


class BuildFile(models.Model):
    """A file of a build. Participants may get it through the downloads of a track, unless it is private."""

    build = models.ForeignKey(Build, models.PROTECT, related_name="files")
    name = models.CharField(max_length=200)
    description = models.CharField(max_length=200)
    is_private = models.BooleanField(default=False)
    file = models.FileField(max_length=255)
    n_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["is_private", "id"]
        constraints = [models.UniqueConstraint(fields=["build", "name"], name="build_file_unique")]

    def __str__(self) -> str:
        return self.name
