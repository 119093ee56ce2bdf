"""The commands shown in the documentation, run on the sample files, and their output.

A fenced block of the language `console` shows a session: a line that begins with `$ ` is a command, a line that ends
with a backslash is continued by one that begins with `> `, and the other lines are its output, standard error included.
The commands of a page run in its order in one shell, in a folder with copies of the sample files. A block with the
comment `<!-- not run: REASON -->` on the line before it is left out; a test runs those that need the demo campaign.

    python -m maintenance.docs.outputs            # show what differs; exit status 1 if anything does
    python -m maintenance.docs.outputs --write    # write the actual output into the pages
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from maintenance.docs.copies import function

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "assay" / "samples"
FENCE = re.compile(r"(?P<indent> *)```(?P<language>.*)")
NOT_RUN = re.compile(r" *<!-- not run: (?P<reason>.+) -->")
MARK = "\x1e"  # separates the outputs of commands
SECONDS = 120
# One language and width wherever the tests run, and no settings of a site.
ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
    "PYTHONUNBUFFERED": "1",  # standard output and standard error in the order of a terminal
    "LC_ALL": "C.UTF-8",
    "COLUMNS": "100",
    "NO_COLOR": "1",
}


@dataclass(frozen=True)
class Block:
    """A fenced block: the numbers of its first and last line of content (from 0, the last exclusive)."""

    language: str
    start: int
    end: int
    not_run: str  # the reason, empty if it runs

    def lines(self, page: Sequence[str]) -> Sequence[str]:
        return page[self.start : self.end]


def pages() -> list[Path]:
    """The README and the pages of the site, without generated ones."""
    docs = ROOT / "docs"
    written = [
        page for page in docs.rglob("*.md") if not {"_build", "library"} & set(page.relative_to(docs).parts)
    ]
    return [ROOT / "README.md", *sorted(written)]


def blocks(page: Sequence[str]) -> Iterator[Block]:
    """The fenced blocks of a page's lines."""
    start, language, reason = -1, "", ""
    for n, line in enumerate(page):
        fence = FENCE.fullmatch(line)
        if fence and start < 0:
            before = NOT_RUN.fullmatch(page[n - 1]) if n else None
            start, language, reason = n + 1, fence["language"], before["reason"] if before else ""
        elif fence and not fence["language"]:
            yield Block(language, start, n, reason)
            start = -1


def commands(block: Sequence[str]) -> list[str]:
    """The commands of a session, each with its further lines."""
    sessions: list[str] = []
    for n, line in enumerate(block):
        if line.startswith("$ "):
            sessions.append(line[2:])
        elif line.startswith("> ") and n and block[n - 1].endswith("\\"):
            sessions[-1] += f"\n{line[2:]}"
    return sessions


def actual(page: Sequence[str], *, reason: str = "", settings: Mapping[str, str] = ENVIRONMENT) -> list[str]:
    """A page's lines with the actual output of its commands: of the blocks that have this reason not to run."""
    sessions = [block for block in blocks(page) if block.language == "console" and block.not_run == reason]
    shown = [command for block in sessions for command in commands(block.lines(page))]
    outputs = iter(_outputs(shown, settings))
    new = list(page)
    shift = 0
    for block in sessions:
        lines: list[str] = []
        for command in commands(block.lines(page)):
            first, *further = command.split("\n")
            lines += [f"$ {first}", *(f"> {line}" for line in further), *next(outputs)]
        new[block.start + shift : block.end + shift] = lines
        shift += len(lines) - (block.end - block.start)
    return new


def _outputs(page_commands: Sequence[str], settings: Mapping[str, str]) -> list[list[str]]:
    """Return what each command prints, in a folder with the sample files."""
    if not page_commands:
        return []
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            SAMPLES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "__init__.py")
        )
        script = ["exec 2>&1", function(settings)]
        for command in page_commands:
            script += [command, "status=$?", f"printf '%s\\n' '{MARK}'", "(exit $status)"]
        session = subprocess.run(
            ["bash"],
            input="\n".join(script),
            cwd=folder,
            env=settings,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    *outputs, _ = session.stdout.split(f"{MARK}\n")
    return [output.splitlines() for output in outputs]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the actual output into the pages")
    parser.add_argument("pages", nargs="*", type=Path, help="these pages instead of all")
    options = parser.parse_args()
    n_different = 0
    for path in [page.resolve() for page in options.pages] or pages():
        page = path.read_text().splitlines()
        new = actual(page)
        if new == page:
            continue
        n_different += 1
        sys.stdout.writelines(
            f"{line}\n" for line in difflib.unified_diff(page, new, str(path), "actual", lineterm="")
        )
        if options.write:
            path.write_text("\n".join([*new, ""]))
    return int(n_different > 0 and not options.write)


if __name__ == "__main__":
    sys.exit(main())
