"""Health checks of containers: `python server/health.py web` or `beat`.

It uses only the standard library, because it runs every few seconds.
"""

import os
import sys
import time
import urllib.request
from pathlib import Path

BEAT_SECONDS = 120.0  # the beat sends a task every few seconds


def web(port: int = 8000) -> str:
    """Empty if the web process responds; otherwise the problem."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/", timeout=5) as answer:
            return "" if answer.status == 200 else f"the web process responds with {answer.status}"
    except OSError as error:
        return f"the web process does not respond: {error}"


def beat(file: Path, now: float) -> str:
    """Empty if the beat touched its file recently; otherwise the problem."""
    if not file.exists():
        return "the beat has not started"
    age = now - file.stat().st_mtime
    return "" if age < BEAT_SECONDS else f"the beat has been silent for {age:.0f} seconds"


def main(arguments: list[str]) -> str:
    if arguments == ["web"]:
        return web()
    if arguments == ["beat"]:
        return beat(Path(os.environ.get("ASSAY_VAR", "var")) / "run" / "beat", time.time())
    return "usage: health.py web|beat"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) or None)
