"""Programs that judge: `assay judge`, and the pages and addresses for machines of a track."""

from assay.archive.parts import TrackPart
from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="machines",
    title="Programs that judge",
    adds=(
        Command(
            "judge",
            "let a model or a program judge the units of a pool",
            "assay_extensions.machines.commands.judge",
        ),
        Command(
            "probe",
            "find out what makes a judge change its answers",
            "assay_extensions.machines.commands.probe",
        ),
        Command(
            "panel", "combine the judgments of several judges", "assay_extensions.machines.commands.panel"
        ),
        TrackPart(
            name="machines",
            title="judges, and the replies of models",
            verify="assay_extensions.machines.archive:verify",
            gather="assay_extensions.machines.site.archive:gather",
            load="assay_extensions.machines.site.archive:load",
        ),
    ),
)
