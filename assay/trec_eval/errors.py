"""Errors that end an evaluation, with the exit status of trec_eval."""

USAGE, UNREADABLE, NOT_COMPUTED, NOTHING_COMMON = 1, 2, 4, 7


class TrecEvalError(Exception):
    """A message for standard error, and the exit status that trec_eval has for it."""

    def __init__(self, message: str, *, status: int) -> None:
        super().__init__(message)
        self.status = status


class FileError(TrecEvalError):
    """A file cannot be used: its name, the line, and what is wrong."""

    def __init__(self, path: str, message: str, *, status: int = UNREADABLE) -> None:
        super().__init__(f"{path}: {message}", status=status)
