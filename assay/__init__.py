"""Protocols, runs, pools, qrels and measures of information-retrieval evaluation, on files alone. Decision: ADR 19.

The functions of `__all__` are the public interface: `assay.evaluate`, `compare`, `tiers`, `agreement`, `pool`, `fuse`,
`read_topics`, `read_threads`, `read_formulas`, `read_qrels` and `measure_names`, with their results and errors. Each is
imported when it is first used, so `import assay` takes no time. Decision: ADR 19.
"""

from typing import TYPE_CHECKING, Any

from assay import version

__version__ = version.VERSION

if TYPE_CHECKING:
    from assay.errors import AssayError as AssayError
    from assay.errors import InputError as InputError
    from assay.errors import InputWarning as InputWarning
    from assay.research.agreement import Agreement as Agreement
    from assay.research.agreement import agreement as agreement
    from assay.research.comparison import Comparison as Comparison
    from assay.research.comparison import Tiers as Tiers
    from assay.research.comparison import compare as compare
    from assay.research.comparison import tiers as tiers
    from assay.research.evaluation import Evaluation as Evaluation
    from assay.research.evaluation import evaluate as evaluate
    from assay.research.evaluation import measure_names as measure_names
    from assay.research.fusion import fuse as fuse
    from assay.research.pooling import Pool as Pool
    from assay.research.pooling import pool as pool
    from assay.research.reading import read_formulas as read_formulas
    from assay.research.reading import read_qrels as read_qrels
    from assay.research.reading import read_threads as read_threads
    from assay.research.reading import read_topics as read_topics

PLACES = {
    "evaluate": "evaluation",
    "Evaluation": "evaluation",
    "compare": "comparison",
    "Comparison": "comparison",
    "tiers": "comparison",
    "Tiers": "comparison",
    "agreement": "agreement",
    "Agreement": "agreement",
    "pool": "pooling",
    "fuse": "fusion",
    "measure_names": "evaluation",
    **dict.fromkeys(("read_topics", "read_threads", "read_formulas", "read_qrels"), "reading"),
    "Pool": "pooling",
}
ERRORS = ("AssayError", "InputError", "InputWarning")
__all__ = [*PLACES, *ERRORS, "__version__"]  # noqa: PLE0604 -- names


def __getattr__(name: str) -> Any:
    """A name of the public interface, imported now."""
    from importlib import import_module  # noqa: PLC0415 -- only this function needs it

    if name in PLACES:
        value = getattr(import_module(f"assay.research.{PLACES[name]}"), name)
    elif name in ERRORS:
        value = getattr(import_module("assay.errors"), name)
    else:
        raise AttributeError(f"module 'assay' has no attribute {name!r}; it offers {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
