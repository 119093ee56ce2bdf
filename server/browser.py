"""Finds a Chromium for the browser tests. Standard library only: set-up asks it too."""

import os
import shutil
import subprocess
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
BROWSERS = Path(__file__).resolve().parent.parent / ".venv" / "browsers"


def find() -> str | None:
    """A Chromium that starts: named by CHROMIUM, of the machine, or put into the virtual environment by set-up."""
    named = [os.environ[name] for name in ("CHROMIUM",) if os.environ.get(name)]
    installed = [path for name in NAMES if (path := shutil.which(name))]
    ours = [
        str(path)
        for path in sorted(BROWSERS.glob("**/chrome")) + sorted(BROWSERS.glob("**/chrome-headless-shell"))
    ]
    return next((path for path in named + installed + ours if starts(path)), None)


def starts(path: str) -> bool:
    """A browser whose libraries are missing, or Ubuntu's package that only points to a snap, does not."""
    try:
        done = subprocess.run([path, "--version"], check=False, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
