"""The scene of tests of judging."""

from tests.assessment.conftest import scene  # noqa: F401
