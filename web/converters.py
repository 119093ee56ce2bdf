"""Converters of parts of an address."""

from django.urls import register_converter


class _Ending:
    regex = ""

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class TableEnding(_Ending):
    """The file extension of a table."""

    regex = "tsv|csv"


class LeaderboardEnding(_Ending):
    """The file extension of a leaderboard."""

    regex = "tsv|csv|json|tex"


def register() -> None:
    """Make `<table:...>` and `<board:...>` known. Called once, when the apps are ready."""
    register_converter(TableEnding, "table")
    register_converter(LeaderboardEnding, "board")
