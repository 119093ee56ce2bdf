"""The scene of the tests of scoring, and the files of those of commands."""

from tests.assay.cli.conftest import folder
from tests.scoring.conftest import _alone, scene, scored

__all__ = ["_alone", "folder", "scene", "scored"]
