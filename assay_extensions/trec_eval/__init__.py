"""trec_eval 10.0 for scripts that call it: the same options, files, measures, output lines and exit statuses.

Where 10.0 reads memory that it never wrote, or crashes, this package computes what the manual of trec_eval says;
docs/reference/measures.md lists these cases.
"""

from assay.cli.main import Command
from assay.extensions import Extension
from assay_extensions.trec_eval.families import FAMILIES

EXTENSION = Extension(
    name="trec-eval",
    title="Evaluation as trec_eval does it",
    adds=(
        *FAMILIES,
        Command(
            "trec_eval",
            "evaluate a run as trec_eval 10.0 does, with its options and output",
            main="assay_extensions.trec_eval.command:main",
        ),
    ),
)
