"""Extensions add measures, pool strategies, run formats and commands without a change to Assay.

An extension is an object of `Extension` in a package of its own, which the package declares as an entry point of the
group `assay.extensions`, under the name of the extension. What it adds are objects of the classes of `Point`; for each
class there is one `Registry`, in which the objects of Assay itself come first. The variable `ASSAY_EXTENSIONS` selects
extensions: `all` (the default), `none`, or names separated by commas. The others are not imported.

The extensions that come with Assay are the folders of the package `assay_extensions`. Decision: ADR 91.
"""

import os
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules, resolve_name
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

from assay.errors import AssayError, InputError, Refused
from assay.version import VERSION

GROUP = "assay.extensions"
OWN = "assay"  # the package of the extensions that come with Assay
Reference = Annotated[str, ""]  # a function: `package.module:name`


@dataclass(frozen=True)
class Point:
    """Something that an extension adds: its name in protocols, options and files, and its title for people."""

    noun: ClassVar[str] = "point"

    name: str
    title: str

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            kind: Any = get_origin(field.type) or field.type
            kind = str if kind is Annotated else kind
            if kind is Literal:
                accepted, is_accepted = repr(get_args(field.type))[1:-1], value in get_args(field.type)
            else:
                kinds = (int, float) if kind is float else (kind,)
                accepted = getattr(kind, "__name__", str(kind))
                is_accepted = isinstance(value, kinds) and (kind is bool or not isinstance(value, bool))
            if not is_accepted:
                raise ValueError(f"{self.noun} {self.name}: {field.name}: expected {accepted}, got {value!r}")

    @property
    def references(self) -> list[str]:
        """The references of its functions: attributes that are references, and names in those that are modules."""
        names = ((field.name, getattr(field.type, "__metadata__", ())) for field in fields(self))
        return [
            f"{value}:{function}" if function else value
            for name, functions in names
            for function in functions
            if (value := getattr(self, name))
        ]


P = TypeVar("P", bound=Point)


@dataclass(frozen=True, kw_only=True)
class Extension:
    """A package's object that says what it adds.

    Attributes:
        name: lower-case letters, digits and hyphens, as in `extensions = ["NAME"]` of protocols. The entry point
            has the same name.
        title: what people call it.
        requires: names of other extensions that it needs.
        adds: the objects that it adds.
    """

    name: str
    title: str
    requires: tuple[str, ...] = ()
    adds: tuple[Point, ...] = ()

    def __post_init__(self) -> None:
        for name, kind, example in (("requires", str, '("utility",)'), ("adds", Point, "(MEASURE,)")):
            value = getattr(self, name)
            if not isinstance(value, tuple) or not all(isinstance(item, kind) for item in value):
                raise ValueError(f"{name}: expected a tuple such as {example}, got {value!r}")


class Installed(NamedTuple):
    """An extension with the package that brought it, the version of the package, and the place of the object."""

    extension: Extension
    package: str
    version: str
    source: str

    @property
    def adds(self) -> list[str]:
        """Names of the points, such as `measure First`."""
        return [f"{point.noun} {point.name}" for point in self.extension.adds]


class ExtensionError(InputError, Refused):
    """An extension cannot be used. The message names it."""

    title = "An extension cannot be used"


class ExtensionMissing(InputError, Refused):
    """A protocol needs an extension that is not installed, or not selected."""

    title = "An extension is missing"


class _Found(NamedTuple):
    """The place of an extension that is not imported yet."""

    name: str
    package: str
    version: str
    source: str

    def load(self) -> Installed:
        try:
            extension = resolve_name(self.source)
        except Exception as error:  # whatever the code of others raises
            raise ExtensionError(f"{self} cannot be imported: {type(error).__name__}: {error}") from error
        if not isinstance(extension, Extension) or extension.name != self.name:
            raise ExtensionError(f'{self}: {self.source} is not an Extension(name="{self.name}", ...)')
        return Installed(extension, self.package, self.version, self.source)

    def __str__(self) -> str:
        return f"the extension {self.name} of {self.package} {self.version}"


@cache
def installed() -> tuple[Installed, ...]:
    """The selected extensions, by their names.

    Raises:
        ExtensionError: Two have the same name, one cannot be imported, needs one that is not selected, or
            `ASSAY_EXTENSIONS` names one that does not exist.
    """
    places = sorted([*bundled(), *_of_packages()])
    names = [place.name for place in places]
    if several := [name for name, n in Counter(names).items() if n > 1]:
        packages = " and ".join(
            f"{place.package} {place.version}" for place in places if place.name in several[:1]
        )
        raise ExtensionError(f"{packages} both have an extension {several[0]}; uninstall one of them")
    selected = _selected(names)
    loaded = tuple(place.load() for place in places if place.name in selected)
    for extension, *_ in loaded:
        for name in extension.requires:
            if name not in selected:
                how = "add it to ASSAY_EXTENSIONS" if name in names else "install it"
                raise ExtensionError(f"the extension {extension.name} needs the extension {name}; {how}")
    return loaded


def _selected(names: list[str]) -> set[str]:
    value = os.environ.get("ASSAY_EXTENSIONS", "").strip() or "all"
    if value in {"all", "none"}:
        return set(names) if value == "all" else set()
    selected = {name.strip() for name in value.split(",")}
    if unknown := sorted(selected - set(names)):
        raise ExtensionError(
            f"ASSAY_EXTENSIONS: there is no extension {unknown[0]!r}; use {', '.join([*names, 'all'])} or none"
        )
    return selected


def bundled() -> list[_Found]:
    """The places of the extensions that come with Assay."""
    package = find_spec("assay_extensions")
    folders = iter_modules(package.submodule_search_locations) if package else ()
    return [
        _Found(name.replace("_", "-"), OWN, VERSION, f"assay_extensions.{name}:EXTENSION")
        for _, name, _ in folders
    ]


def _of_packages() -> set[_Found]:
    if not any(map(_declares_one, map(Path, sys.path))):
        return set()
    from importlib.metadata import entry_points  # noqa: PLC0415 -- takes 20 ms, and most sites need none

    return {
        _Found(point.name, point.dist.name, point.dist.version, point.value)
        for point in entry_points(group=GROUP)
        if point.dist is not None
    }


def _declares_one(folder: Path) -> bool:
    """Return whether a package in a folder of `sys.path` may declare an extension; True for an archive."""
    files = folder.glob("*-info/entry_points.txt")
    return folder.is_file() or any(GROUP.encode() in file.read_bytes() for file in files)


class Registry(Mapping[str, P], Generic[P]):
    """The objects of a class of points by their names: those of Assay, then those of the installed extensions.

    Args:
        kind: the class.
        own: the objects of Assay.
    """

    def __init__(self, kind: type[P], own: Sequence[P]) -> None:
        self._kind = kind
        self._own = {point.name: point for point in own}
        if len(self._own) < len(own):
            raise ValueError(f"two objects of {kind.__name__} have the same name")
        self._read: tuple[Installed, ...] | None = None
        self._all: dict[str, P] = {}
        self._extensions: dict[str, Installed] = {}

    def __getitem__(self, name: str) -> P:
        return self._points()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._points())

    def __len__(self) -> int:
        return len(self._points())

    def extension_of(self, name: str) -> str:
        """The name of the extension that adds an object; empty for an object of Assay, or an unknown name."""
        self._points()
        return self._extensions[name].extension.name if name in self._extensions else ""

    def _is_of_others(self, name: str) -> bool:
        return bool(self.extension_of(name)) and self._extensions[name].package != OWN

    def check(self, *names: str) -> None:
        """Look for the functions of some objects of extensions, or of all; those that come with Assay have tests.

        Raises:
            ExtensionError: A function does not exist, or a name is used twice.
        """
        for name in names or self:
            if self._is_of_others(name):
                for reference in self[name].references:
                    self.function(name, reference)

    def function(self, name: str, reference: str) -> Callable[..., Any]:
        """A function of an object. What that of an extension raises is an error that names the extension.

        Raises:
            ExtensionError: It does not exist.
        """
        if not self._is_of_others(name):
            return resolve_name(reference)  # type: ignore[no-any-return]
        try:
            function = resolve_name(reference)
        except Exception as error:  # whatever the code of others raises
            raise self.error(
                name, f"{reference} cannot be imported: {type(error).__name__}: {error}"
            ) from error
        if not callable(function):
            raise self.error(name, f"{reference} is not a function")
        return partial(_call, function, str(self.error(name, f"{reference} fails")))

    def error(self, name: str, fault: str) -> ExtensionError:
        return ExtensionError(f"the extension {self.extension_of(name)}: {self._kind.noun} {name}: {fault}")

    def _points(self) -> dict[str, P]:
        if self._read is not (now := installed()):
            points, extensions = dict(self._own), dict[str, Installed]()
            for known in now:
                extension = known.extension
                for point in extension.adds:
                    if not isinstance(point, self._kind):
                        continue
                    if point.name in points:
                        other = extensions.get(point.name)
                        left_out = "one of them" if other else extension.name
                        raise ExtensionError(
                            f"the extension {extension.name} adds the {self._kind.noun} {point.name}, which "
                            f"{f'the extension {other.extension.name}' if other else 'Assay'} has already; "
                            f"leave {left_out} out with ASSAY_EXTENSIONS"
                        )
                    points[point.name], extensions[point.name] = point, known
            self._all, self._extensions, self._read = points, extensions, now
        return self._all


def _call(function: Callable[..., Any], failure: str, *arguments: object) -> Any:
    """Call a function of others, also in other processes."""
    try:
        return function(*arguments)
    except AssayError:
        raise
    except Exception as error:
        place = [
            f" ({Path(at.filename).name}, line {at.lineno})"
            for at in traceback.extract_tb(error.__traceback__)
        ]
        where = place[1] if len(place) > 1 else ""
        raise ExtensionError(f"{failure}: {type(error).__name__}: {error}{where}") from error
