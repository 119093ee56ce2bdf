"""The gallery: how far a first screen is filled, and, at night, the pages of the demo on every screen."""

import subprocess
import sys
from io import BytesIO

import pytest
from PIL import Image, ImageDraw

from maintenance.gallery import CELL, filled


def test_thirds_of_a_screen_are_filled_where_something_is_drawn() -> None:
    screen = Image.new("L", (30 * CELL, 20 * CELL), 255)
    for x in range(0, 10 * CELL, CELL // 2):
        ImageDraw.Draw(screen).line((x, 0, x, 20 * CELL), fill=0)
    picture = BytesIO()
    screen.save(picture, "PNG")

    assert filled(picture.getvalue()) == [100, 0, 0]


@pytest.mark.nightly
def test_pages_of_the_demo_are_right_on_every_screen() -> None:
    """It starts a site with the demo, which takes some minutes."""
    done = subprocess.run(
        [sys.executable, "-m", "maintenance.gallery"], check=False, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout + done.stderr
