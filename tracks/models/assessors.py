"""The people of tracks: organizers, chairs and assessors. Members of teams are a layer above."""

from random import SystemRandom
from typing import Any

from django.db import models

from accounts.models import User
from tracks.models.tracks import Track
from web.names import NameField
from web.slots import address_if_known


class Organizer(models.Model):
    """A user who organizes a track, or chairs it: a chair sees what an organizer sees, and changes nothing."""

    track = models.ForeignKey(Track, models.CASCADE, related_name="organizers")
    user = models.ForeignKey(User, models.PROTECT, related_name="organizer_of")
    is_chair = models.BooleanField("chair", default=False)

    class Meta:
        verbose_name, verbose_name_plural = "organizer's role", "organizers' roles"
        constraints = [models.UniqueConstraint(fields=["track", "user"], name="organizer_unique")]

    def __str__(self) -> str:
        return self.user.username

    @property
    def role(self) -> str:
        return "chair" if self.is_chair else "organizer"


class Assessor(models.Model):
    """A user who judges for a track, and who is not a member of any of its teams."""

    track = models.ForeignKey(Track, models.PROTECT, related_name="assessors")
    user = models.ForeignKey(User, models.PROTECT, related_name="assessor_of")
    group = NameField(
        max_length=50, blank=True, help_text="One of the groups of the protocol; empty if it defines none."
    )
    ended_at = models.DateTimeField(
        null=True, editable=False, help_text="When they were removed. Their judgments stay."
    )
    pseudonym = models.PositiveIntegerField(
        null=True,
        editable=False,
        help_text="The number in the code name, such as A17: chosen at random, and never changed.",
    )

    class Meta:
        verbose_name, verbose_name_plural = "assessor's role", "assessors' roles"
        constraints = [
            models.UniqueConstraint(fields=["track", "user"], name="assessor_unique"),
            models.UniqueConstraint(fields=["track", "pseudonym"], name="assessor_pseudonym_unique"),
        ]

    def __str__(self) -> str:
        return self.user.username

    def save(self, *args: Any, **options: Any) -> None:
        """Give a new assessor a code name. A machine has none: it is shown under its own name."""
        if self.pk is None and self.pseudonym is None and not self.user.is_machine:
            self.pseudonym = _free_number(self.track_id)
        super().save(*args, **options)


def _free_number(track_id: int) -> int:
    """A number that no assessor of a track has. It reveals neither a name nor the order in which people were added."""
    taken = set(Assessor.objects.filter(track=track_id).values_list("pseudonym", flat=True))
    return SystemRandom().choice([n for n in range(1, max(100, 3 * len(taken))) if n not in taken])


class Machine(models.Model):
    """A program or a model that judges for a track. Its judgments never mix with those of people.

    It never changes: another version, model or prompt is another machine.
    """

    assessor = models.OneToOneField(Assessor, models.PROTECT, related_name="machine")
    name = NameField(max_length=60)
    version = NameField(max_length=60, help_text="The version of the program, or the name of the model.")
    description = models.TextField(
        blank=True, help_text="How it judges: the prompt, the settings, what it was trained on."
    )
    family = NameField(
        max_length=60,
        blank=True,
        db_default="",
        help_text="The family of its model, such as gpt. Runs that declare a model of the same family are marked.",
    )
    owner = models.ForeignKey(
        User, models.PROTECT, related_name="machines", help_text="The person who answers for it."
    )
    created_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "version", "pk"]

    def __str__(self) -> str:
        return f"{self.name} {self.version}"

    def get_absolute_url(self) -> str:
        return address_if_known("machines:machine", self.pk)
