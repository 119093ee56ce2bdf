"""Judges as participants: what they submit, and how they compare with people."""

from assay.archive.parts import TrackPart
from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="metaevaluation",
    title="Judges as participants",
    adds=(
        Command(
            "meta",
            "compare judges with people, and check their files",
            "assay_extensions.metaevaluation.command",
        ),
        TrackPart(
            name="metaevaluation",
            title="judges that teams submitted, and their boards",
            verify="assay_extensions.metaevaluation.archive:verify",
            gather="assay_extensions.metaevaluation.site.archive:gather",
            load="assay_extensions.metaevaluation.site.archive:load",
            stored="judges",
        ),
    ),
)
