"""Converters for parts of a URL."""

from django.urls import register_converter


class _Extension:
    regex = ""

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class TableExtension(_Extension):
    """The extension of a file with a table."""

    regex = "tsv|csv"


class LeaderboardExtension(_Extension):
    """The extension of a file with a leaderboard."""

    regex = "tsv|csv|json|tex"


def register() -> None:
    """Register `<table:...>` and `<board:...>`. Called once, when the apps are ready."""
    register_converter(TableExtension, "table")
    register_converter(LeaderboardExtension, "board")
