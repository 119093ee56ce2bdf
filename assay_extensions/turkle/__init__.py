"""Projects of Turkle: the command that makes a lab of one, and the pages on which organizers import them as tracks."""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="turkle",
    title="Projects of Turkle",
    adds=(Command("turkle", "make a lab of a project of Turkle", "assay_extensions.turkle.command"),),
)
