"""A plugin of pytest for `make alone`: nothing can import an extension of Assay. Tests that need one are skipped."""

import re
import sys
import traceback
from collections.abc import Generator
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest
from django.urls import NoReverseMatch

PACKAGE = "assay_extensions"
TESTS = Path(__file__).parent


class _Absent(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if not fullname.startswith(f"{PACKAGE}."):
            return
        frame: FrameType | None = sys._getframe()
        while frame is not None:  # a module that is imported in part must not be found by the next import
            if frame.f_code.co_name == "<module>" and frame.f_globals["__name__"] != "__main__":
                sys.modules.pop(frame.f_globals["__name__"], None)
            frame = frame.f_back
        pytest.skip(f"needs {fullname}", allow_module_level=True)


sys.modules[PACKAGE] = module_from_spec(ModuleSpec(PACKAGE, None, is_package=True))
sys.meta_path.insert(0, _Absent())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Skip a test that opens a page, or uses an operation or a command of an extension. A core that does so fails."""
    try:
        return (yield)
    except (NoReverseMatch, SystemExit) as error:
        refusal = error.__context__ if isinstance(error, SystemExit) else error
        word = re.search(r"(?:invalid choice: |for |^)'([\w-]+)'", str(refusal))
        owner = word and _owner(word[1])
        calls = pairwise(traceback.extract_tb(error.__traceback__))
        callers = [Path(caller.filename) for caller, called in calls if called.name in {"reverse", "main"}]
        if not owner or not callers[0].is_relative_to(TESTS):
            raise
        pytest.skip(f"needs {PACKAGE}.{owner}")


def _owner(word: str) -> str:
    """The extension that has a URL, a namespace of URLs or a command of this name."""
    named = re.compile(rf'(?:, |name=|app_name = |Command\(|^ +)"{word}"', re.MULTILINE)
    folder = TESTS.parent / PACKAGE
    files = [*folder.glob("*/__init__.py"), *sorted(folder.glob("*/site/**/*.py"))]
    parts = (path.relative_to(folder).parts for path in files if named.search(path.read_text()))
    return next(parts, ("",))[0]
