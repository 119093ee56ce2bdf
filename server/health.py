"""Health checks of containers: `python server/health.py web` or `beat`.

Standard library only: a check every few seconds must cost little.
"""

import os
import sys
import time
import urllib.request
from pathlib import Path

BEAT_SECONDS = 120.0  # the beat has something to do every few seconds


def web(port: int = 8000) -> str:
    """Empty if the pages answer; otherwise what is wrong."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/", timeout=5) as answer:
            return "" if answer.status == 200 else f"the pages answer {answer.status}"
    except OSError as error:
        return f"the pages do not answer: {error}"


def beat(file: Path, now: float) -> str:
    """Empty if the beat's clock went lately; otherwise what is wrong."""
    if not file.exists():
        return "the beat has not begun"
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
