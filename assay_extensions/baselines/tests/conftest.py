"""The scene of the tests of pooling."""

from tests.pooling.conftest import folder, no_messages, scene

__all__ = ["folder", "no_messages", "scene"]
