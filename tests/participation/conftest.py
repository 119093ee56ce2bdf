"""The scene of the tests of runs."""

from tests.pooling.conftest import enter, folder, no_messages, scene

__all__ = ["enter", "folder", "no_messages", "scene"]
