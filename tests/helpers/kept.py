"""Text in `tests/kept` of everything that users rely on: a change of the code shows up as a change of these files."""

import json
import os
from difflib import unified_diff
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "kept"
HOW_TO_WRITE = "If users lose nothing by these changes, `make kept` writes the file again:"


def check(name: str, value: Any, part: str = "") -> None:
    """Fail, with the lines that differ, unless a value is that of a file, or of a part of the file.

    With `KEPT=write` in the environment, write the value to the file instead.
    """
    path = FOLDER / name
    kept = json.loads(path.read_text()) if path.exists() else {}
    if os.environ.get("KEPT") == "write":
        new = kept | {part: value} if part else value
        path.write_text(_text(new))
        return
    before, now = (_text(each).splitlines() for each in (kept.get(part) if part else kept, value))
    changes = [*unified_diff(before, now, f"tests/kept/{name}", "now", lineterm="", n=0)]
    assert not changes, "\n".join([HOW_TO_WRITE, *changes])


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
