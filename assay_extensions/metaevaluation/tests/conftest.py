"""The scene of the tests of scoring."""

from tests.scoring.conftest import _alone, scene, scored

__all__ = ["_alone", "scene", "scored"]
