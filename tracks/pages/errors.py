"""Refusals about the texts of the site."""

from assay.errors import Refused


class PageRefused(Refused):
    title = "The page was not changed"


class PageChanged(PageRefused):
    def __init__(self) -> None:
        super().__init__(
            "Somebody else published another text after you opened the editor. Your text is kept on this page. "
            "Open the page in another tab to compare; publish again to replace the other text."
        )
