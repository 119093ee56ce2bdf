"""A plugin of pytest for `make alone`: nothing can import an extension of Assay. Tests that need one are skipped."""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import FrameType

import pytest

PACKAGE = "assay_extensions"


class _Absent(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if not fullname.startswith(f"{PACKAGE}."):
            return
        frame: FrameType | None = sys._getframe()
        while frame is not None:  # a module that is imported in part must not be found by the next import
            if frame.f_code.co_name == "<module>":
                sys.modules.pop(frame.f_globals["__name__"], None)
            frame = frame.f_back
        pytest.skip(f"needs {fullname}", allow_module_level=True)


sys.modules[PACKAGE] = module_from_spec(ModuleSpec(PACKAGE, None, is_package=True))
sys.meta_path.insert(0, _Absent())
