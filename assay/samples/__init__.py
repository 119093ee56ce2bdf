"""Sample files: a small collection with topics, runs, judgments and qrels. README.md describes each of them.

>>> path("runs/abacus.tsv").name
'abacus.tsv'
"""

from importlib.resources import files
from pathlib import Path

_FOLDER = Path(str(files(__name__)))
_OTHERS = {"README.md", "__init__.py"}


def names() -> list[str]:
    """The names that `path` accepts, sorted, such as `qrels.txt` and `runs/abacus.tsv`."""
    samples = (file for file in _FOLDER.rglob("*") if file.is_file() and file.suffix != ".pyc")
    samples = (file for file in samples if file.name not in _OTHERS)
    return sorted(file.relative_to(_FOLDER).as_posix() for file in samples)


def path(name: str) -> Path:
    """Return where a sample file is. The files of a manifest are next to it, in `runs/`.

    Raises:
        FileNotFoundError: There is no sample file of that name; the message lists the names that exist.
    """
    available = names()
    if name not in available:
        raise FileNotFoundError(f"There is no sample file {name!r}; use one of {', '.join(available)}.")
    return _FOLDER / name
