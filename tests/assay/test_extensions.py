"""Extensions: which are found and selected, and what is wrong with one."""

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.extensions import OWN, ExtensionError, Installed, Point, Registry, bundled, installed
from tests.helpers.extensions import other_packages

SHADE = "from tests.assay.test_extensions import Shade\n"
RED = SHADE + 'EXTENSION = Extension(name="red", title="Red", adds=(Shade("crimson", "a red"),))'
BLUE = (
    SHADE
    + 'EXTENSION = Extension(name="blue", title="Blue", requires=("red",), adds=(Shade("navy", "a blue"),))'
)


@dataclass(frozen=True)
class Shade(Point):
    """A class of points that no extension of Assay adds."""


@dataclass(frozen=True)
class Tint(Point):
    """A class of points that no extension adds."""


def names(extensions: tuple[Installed, ...]) -> list[str]:
    """The names of those that others wrote."""
    return [known.extension.name for known in extensions if known.package != OWN]


def test_registry_has_the_points_of_assay_then_those_of_extensions(tmp_path: Path) -> None:
    registry = Registry(Shade, [Shade("white", "all colors")])
    before = list(registry)
    assert before[0] == "white"

    with other_packages(tmp_path, red=RED, blue=BLUE):
        assert [name for name in registry if name not in before] == ["navy", "crimson"]
        assert registry["navy"].name == "navy"
        assert [registry.extension_of(name) for name in ("white", "navy", "gray")] == ["", "blue", ""]
        assert list(Registry(Tint, [])) == []

    assert list(registry) == before


def test_extension_is_listed_with_its_package_version_and_source(tmp_path: Path) -> None:
    with other_packages(tmp_path, red=RED):
        (red,) = (known for known in installed() if known.package != OWN)

    assert (red.extension.title, *red[1:]) == ("Red", "red-package", "1.2", "red:EXTENSION")


def test_extension_that_cannot_be_used_is_named_also_for_own_names(tmp_path: Path) -> None:
    registry = Registry(Point, [Point("white", "all colors")])

    with other_packages(tmp_path, red="raise ValueError"), pytest.raises(ExtensionError, match="red-package"):
        registry["white"]


def test_extensions_of_assay_are_selected_as_others(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("assay_extensions.turkle")

    def selected(value: str) -> list[str]:
        monkeypatch.setenv("ASSAY_EXTENSIONS", value)
        installed.cache_clear()
        return [known.extension.name for known in installed()]

    try:
        assert selected("all") == sorted(place.name for place in bundled())
        assert selected("turkle,trec-eval") == ["trec-eval", "turkle"]
        assert selected("none") == []
    finally:
        installed.cache_clear()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("all", ["blue", "red"]),
        ("", ["blue", "red"]),
        ("none", []),
        (" red ", ["red"]),
        ("red,blue", ["blue", "red"]),
    ],
)
def test_variable_selects_extensions(
    value: str, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with other_packages(tmp_path, red=RED, blue=BLUE):
        monkeypatch.setenv("ASSAY_EXTENSIONS", value)

        assert names(installed()) == expected


def test_extension_that_is_not_selected_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with other_packages(tmp_path, red=RED, broken="raise ValueError"):
        monkeypatch.setenv("ASSAY_EXTENSIONS", "red")

        assert names(installed()) == ["red"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("green", "ASSAY_EXTENSIONS: there is no extension 'green'; use analyses, answers, baselines, "),
        ("blue", "the extension blue needs the extension red; add it to ASSAY_EXTENSIONS"),
    ],
)
def test_selection_that_is_not_possible_is_refused(
    value: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("assay_extensions.turkle")
    with other_packages(tmp_path, red=RED, blue=BLUE):
        monkeypatch.setenv("ASSAY_EXTENSIONS", value)

        with pytest.raises(ExtensionError, match=f"^{re.escape(message)}"):
            installed()


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (
            {"red": "import tint"},
            "the extension red of red-package 1.2 cannot be imported: ModuleNotFoundError: No module named 'tint'",
        ),
        (
            {"red": "EXTENSION = 7"},
            'the extension red of red-package 1.2: red:EXTENSION is not an Extension(name="red", ...)',
        ),
        (
            {"pink": RED},
            'the extension pink of pink-package 1.2: pink:EXTENSION is not an Extension(name="pink", ...)',
        ),
        (
            {"red": 'EXTENSION = Extension(name="red", title="Red", adds=7)'},
            (
                "the extension red of red-package 1.2 cannot be imported: ValueError: "
                "adds: expected a tuple such as (MEASURE,), got 7"
            ),
        ),
        ({"blue": BLUE}, "the extension blue needs the extension red; install it"),
        (
            {"red": RED, "red__2": RED},
            "red-package 1.2 and red__2-package 1.2 both have an extension red; uninstall one of them",
        ),
    ],
)
def test_extension_that_cannot_be_used_is_named(
    modules: dict[str, str], message: str, tmp_path: Path
) -> None:
    with other_packages(tmp_path, **modules), pytest.raises(ExtensionError, match=f"^{re.escape(message)}$"):
        installed()


PINK = RED.replace('"red"', '"pink"')


@pytest.mark.parametrize(
    ("own", "others", "other", "left_out"),
    [("crimson", {}, "Assay", "red"), ("white", {"pink": PINK}, "the extension pink", "one of them")],
)
def test_name_that_is_used_twice_is_refused(
    own: str, others: dict[str, str], other: str, left_out: str, tmp_path: Path
) -> None:
    registry = Registry(Shade, [Shade(own, "")])
    message = (
        f"the extension red adds the point crimson, which {other} has already; "
        f"leave {left_out} out with ASSAY_EXTENSIONS"
    )

    with (
        other_packages(tmp_path, red=RED, **others),
        pytest.raises(ExtensionError, match=f"^{re.escape(message)}$"),
    ):
        list(registry)
