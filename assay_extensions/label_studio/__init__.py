"""Label Studio's labeling configurations and tasks, read and written.

Choices, ratings, numbers and texts are questions about a row; a pairwise control gives votes as `assay preferences`
reads them. Results name a control (`from_name`) and have a value that depends on its kind.
"""

from assay.cli.main import Command
from assay.extensions import Extension

EXTENSION = Extension(
    name="label-studio",
    title="Projects of Label Studio",
    adds=(
        Command(
            "label-studio",
            "make a lab of a project of Label Studio, or write one",
            "assay_extensions.label_studio.command",
        ),
    ),
)
