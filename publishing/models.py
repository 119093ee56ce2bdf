"""Archives of tracks, and runs that are published."""

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator, URLValidator
from django.db import models

from accounts.models import User
from assay.archive.description import author
from assay.archive.parts import COLLECTION_FORMS, TRACK_PARTS
from assay.formats.text import lines_of
from jobs.models import Job
from participation.models import Team
from tracks.models import StoredProtocol, Track
from web.links import address_of
from web.models import JsonField
from web.names import NameField

ARCHIVE = "archive"  # the form with everything
DATASET = "ir_datasets:"  # the beginning of the name of what is fetched, and not uploaded


def forms() -> list[tuple[str, str]]:
    """The forms of archives, with their titles."""
    return [
        (ARCHIVE, "Assay: everything of the track"),
        *((form.name, form.title) for form in COLLECTION_FORMS.values()),
    ]


def parts() -> list[tuple[str, str]]:
    """The extensions that can add files to archives, with the title of what they add."""
    return [(part.name, part.title) for part in TRACK_PARTS.values()]


def check_authors(text: str) -> None:
    """Refuse an ORCID iD that cannot be one."""
    for number, line in enumerate(lines_of(text), 1):
        try:
            author(line)
        except ValueError as error:
            raise ValidationError(f"Line {number}: {error}.") from None


class Archive(models.Model):
    """One file with everything of a track, made by a job. It shows the track as it was when the job ran."""

    class Status(models.TextChoices):
        BUILDING = "building", "being made"
        READY = "ready", "ready"
        FAILED = "failed", "failed"

    track = models.ForeignKey(Track, models.PROTECT, related_name="archives")
    form = models.CharField(
        max_length=20,
        choices=forms,
        default=ARCHIVE,
        help_text="All but the first hold the documents, the topics and the newest qrels, for other tools.",
    )
    has_names = models.BooleanField(
        "names of the assessors",
        default=False,
        help_text="Otherwise assessors have code names: A1, A2, … Names of participants are never in an archive.",
    )
    has_comments = models.BooleanField(
        "comments of the assessors",
        default=False,
        help_text="Comments may reveal who wrote them.",
    )
    parts = JsonField(default=list, db_default=[], help_text="The extensions whose files are in it.")
    authors = models.TextField(
        blank=True,
        validators=[check_authors],
        help_text="Who made the test collection, one name per line, for its citation. An ORCID iD may follow a name.",
    )
    license = NameField(
        max_length=200,
        blank=True,
        help_text="Its URL or name, such as https://creativecommons.org/licenses/by/4.0/.",
    )
    url = models.CharField(
        "home page", max_length=300, blank=True, validators=[URLValidator(["http", "https"])]
    )
    doi = models.CharField(
        "DOI",
        max_length=200,
        blank=True,
        validators=[RegexValidator(r"^10\.\d{4,9}/\S+$", "Enter a DOI, such as 10.5281/zenodo.1234.")],
        help_text="If one is reserved for the archive. The command assay archive reserve does that at Zenodo.",
    )
    status = models.CharField("state", max_length=10, choices=Status, default=Status.BUILDING)
    file = models.FileField(upload_to="archives/", max_length=255, blank=True)
    size = models.BigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    counts = JsonField(default=dict)
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="archive")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["track"], condition=models.Q(status="building"), name="archive_building_unique"
            )
        ]

    def __str__(self) -> str:
        return f"{self.track.slug}-{self.created_at:%Y-%m-%d-%H%M}.zip"

    @property
    def part_titles(self) -> list[str]:
        return [dict(parts()).get(name, name) for name in self.parts]


class LoadedArchive(models.Model):
    """An archive or test collection, from which a job makes a track. `file` is deleted when that has ended.

    One that is not uploaded is a data set of ir_datasets: it has the name `ir_datasets:ID`, and the job gets the file.
    """

    class Status(models.TextChoices):
        LOADING = "loading", "being loaded"
        LOADED = "loaded", "loaded"
        FAILED = "failed", "refused"

    name = NameField("file name", max_length=255)
    file = models.FileField(upload_to="archives/", max_length=255, blank=True)
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)
    slug = models.SlugField(
        "short name", max_length=100, blank=True, help_text="Of the track. Empty: as in the archive."
    )
    protocol = models.ForeignKey(
        StoredProtocol,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Of a test collection in the form of another tool. An archive has its own.",
    )
    status = models.CharField("state", max_length=10, choices=Status, default=Status.LOADING)
    findings = JsonField(default=list, help_text="The parts of the archive, and what was checked of each.")
    formulas = models.FileField(
        upload_to="archives/",
        max_length=255,
        blank=True,
        db_default="",
        help_text="The formulas of the runs: formulas.tsv.",
    )
    track = models.OneToOneField(Track, models.PROTECT, null=True, related_name="loaded_from")
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="loaded_archive")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return address_of("publishing:loaded_archive", self.pk)


class Consent(models.Model):
    """A team agrees to the publication of its runs, or no longer does. The latest row counts; rows are only added."""

    team = models.ForeignKey(Team, models.PROTECT, related_name="consents")
    is_given = models.BooleanField()
    by = models.ForeignKey(User, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.team}: {'yes' if self.is_given else 'no'}"


class Publication(models.Model):
    """An archive of the runs of a finished track, of the teams that agreed. A job makes it; it never changes."""

    class Status(models.TextChoices):
        BUILDING = "building", "being made"
        READY = "ready", "published"
        FAILED = "failed", "failed"
        WITHDRAWN = "withdrawn", "withdrawn"

    track = models.ForeignKey(Track, models.PROTECT, related_name="publications")
    status = models.CharField("state", max_length=10, choices=Status, default=Status.BUILDING)
    file = models.FileField(max_length=255, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    n_bytes = models.PositiveBigIntegerField(default=0)
    runs = JsonField(default=list, help_text="The runs in it, as in its runs.json.")
    left_out = JsonField(default=dict, help_text="Teams without consent, and disqualified runs.")
    job = models.OneToOneField(Job, models.PROTECT, null=True, related_name="publication")
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"runs of {self.track}"
