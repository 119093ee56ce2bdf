"""Refusals about guidelines."""

from assay.errors import Refused
from tracks.models import GuidelinesDraft, GuidelinesVersion


class GuidelinesRefused(Refused):
    title = "The guidelines were not published"


class DraftChanged(Refused):
    """Somebody else saved the draft after the page with this text was opened."""

    title = "The draft was changed meanwhile"

    def __init__(self, draft: GuidelinesDraft) -> None:
        super().__init__(
            f"{draft.edited_by or 'Somebody'} saved another text at {draft.edited_at:%H:%M:%S} UTC. Your text is kept "
            "on this page. Open the editor in another tab to compare; save again to replace the other text."
        )
        self.draft = draft


class NothingChanged(GuidelinesRefused):
    def __init__(self, version: GuidelinesVersion) -> None:
        super().__init__(
            f"The text is the same as that of version {version.number}. Change it, then publish."
        )


class NoText(GuidelinesRefused):
    def __init__(self) -> None:
        super().__init__("The guidelines are empty. Write them, then publish.")


class BadExamples(GuidelinesRefused):
    """A worked example names something that the track does not have."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__(" ".join(problems))
