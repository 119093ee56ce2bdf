"""Finds a Chromium for the browser tests. It uses only the standard library, because `make setup` needs it."""

import os
import shutil
import subprocess
from pathlib import Path

# The headless shell first: it shows the same pages in half of the processor time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
BROWSERS = Path(__file__).resolve().parent.parent / ".venv" / "browsers"


def find() -> str | None:
    """The path of a Chromium that starts: CHROMIUM, one of the machine, or the one that `make setup` installed."""
    named = [os.environ[name] for name in ("CHROMIUM",) if os.environ.get(name)]
    installed = [path for name in NAMES if (path := shutil.which(name))]
    ours = [
        str(path)
        for path in sorted(BROWSERS.glob("**/chrome")) + sorted(BROWSERS.glob("**/chrome-headless-shell"))
    ]
    return next((path for path in named + installed + ours if starts(path)), None)


def starts(path: str) -> bool:
    """Return whether a browser starts.

    It does not if libraries are missing, or if Ubuntu's package only points to a snap.
    """
    try:
        done = subprocess.run([path, "--version"], check=False, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
