"""Extensions of other packages: modules with the metadata of an installed package, in a folder of `sys.path`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assay.extensions import installed


@contextmanager
def other_packages(folder: Path, **modules: str) -> Iterator[None]:
    """Packages, each with a module and an extension of its name; the code of a module assigns `EXTENSION`.

    A name with a number after two underscores is that of another package for the same extension.
    """
    for name, code in modules.items():
        (folder / f"{name}.py").write_text(f"from assay.extensions import Extension, Point\n{code}\n")
        metadata = folder / f"{name}_package-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-package\nVersion: 1.2\n")
        extension = name.partition("__")[0]
        (metadata / "entry_points.txt").write_text(f"[assay.extensions]\n{extension} = {name}:EXTENSION\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.delenv("ASSAY_EXTENSIONS", raising=False)
        installed.cache_clear()
        try:
            yield
        finally:
            installed.cache_clear()
            for name in modules:
                sys.modules.pop(name, None)
