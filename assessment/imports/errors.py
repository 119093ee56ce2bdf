"""Refusals about imports of judgments."""

from assay.errors import Refused
from web.counting import counted


class NotReady(Refused):
    title = "These judgments cannot be imported"

    def __init__(self, n_complaints: int) -> None:
        problem = f"it has {counted(n_complaints, 'error')}" if n_complaints else "it has nothing new"
        super().__init__(f"Nothing was imported from the file, because {problem}. Its page names the lines.")


class AlreadyImported(Refused):
    title = "Imported already"

    def __init__(self) -> None:
        super().__init__("These judgments were imported already. Judgments are never deleted or changed.")
