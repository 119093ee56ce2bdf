"""One source of the version."""

import re

from assay.version import VERSION
from tests.helpers.paths import ROOT


def test_changelog_describes_the_version() -> None:
    versions = re.findall(
        r"^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )

    assert versions[0] == VERSION
