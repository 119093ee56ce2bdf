"""Generated answers: rubrics of weighted criteria, and support of citations, from the files of graders."""

from assay.cli.main import Command
from assay.extensions import Extension
from assay.nuggets.formats import NuggetForm

_FILES = "assay_extensions.answers.rubric_files"

EXTENSION = Extension(
    name="answers",
    title="Rubrics and support of answers",
    adds=(
        Command(
            "rubrics",
            "score answers by rubrics, and show which criteria separate systems",
            "assay_extensions.answers.rubrics_command",
        ),
        Command(
            "support",
            "score how far citations support the sentences of answers",
            "assay_extensions.answers.support_command",
        ),
        NuggetForm(
            "ragdoll",
            "RAGDoll",
            reads=f"{_FILES}:list_of",
            writes=f"{_FILES}:write_ragdoll",
            key="criteria",
            has_weights=True,
        ),
        NuggetForm(
            "research-rubrics",
            "research-rubrics",
            reads=f"{_FILES}:list_of",
            writes=f"{_FILES}:write_research",
            key="rubrics",
            has_weights=True,
        ),
    ),
)
