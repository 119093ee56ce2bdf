"""Texts of the site that organizers write: about, contact, terms, privacy."""

from django.db import models

from accounts.models import User


class SitePage(models.Model):
    """A published version of a text of the site; the one with the highest number is shown.

    The database refuses to change or delete it. `html` is what `text` was rendered to when it was published.
    """

    class Name(models.TextChoices):
        ABOUT = "about", "About this site"
        CONTACT = "contact", "Contact"
        TERMS = "terms", "Terms of use"
        PRIVACY = "privacy", "Privacy"

    name = models.CharField(max_length=10, choices=Name)
    number = models.PositiveIntegerField()
    text = models.TextField("Markdown")
    html = models.TextField(editable=False)
    published_by = models.ForeignKey(User, models.PROTECT, related_name="+")
    published_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "-number"]
        constraints = [models.UniqueConstraint(fields=["name", "number"], name="site_page_number_unique")]

    def __str__(self) -> str:
        return f"{self.name}, version {self.number}"
