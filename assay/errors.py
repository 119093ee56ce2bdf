"""Refusals: what a service will not do, said in a whole sentence."""


class Refused(Exception):
    """A request that breaks a rule. `config.refusals` turns it into a page or JSON; a command into CommandError."""

    title = "That is not possible"

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
