"""Loads protocols from TOML files; the dataclasses of `schema` and the `rules` say what a file may contain.

Decision: ADR 45.
"""

from pathlib import Path

from assay.errors import InputError
from assay.protocols.rules import complaints
from assay.protocols.schema import Protocol
from assay.toml_files import decoded, read_toml

DIRECTORY = Path(__file__).parent / "shipped"
MAX_SIZE = 50_000  # characters; tomllib needs time that grows with the square of the length of a dotted key
MOST = 2**31 - 1  # the limit of a database column of whole numbers


class ProtocolError(InputError):
    """A protocol has errors. Each in the message: `file: line: key: what is wrong; what is accepted`."""


def shipped_slugs() -> list[str]:
    """The slugs of the protocols that ship with Assay, sorted."""
    return sorted(path.stem for path in DIRECTORY.glob("*.toml"))


def shipped_text(slug: str) -> str:
    """The text of a shipped protocol's file."""
    if slug not in shipped_slugs():
        raise ProtocolError(f"no protocol {slug!r}; use one of {', '.join(shipped_slugs())}")
    return (DIRECTORY / f"{slug}.toml").read_bytes().decode()


def load_protocol(name: str) -> Protocol:
    """Load a shipped protocol by its slug, or any protocol by the path of its TOML file.

    Raises:
        ProtocolError: There is no such protocol or file, or it has an error.
    """
    path = DIRECTORY / f"{name}.toml" if name in shipped_slugs() else Path(name)
    if path.suffix != ".toml" or not path.is_file():
        raise ProtocolError(
            f"no protocol {name!r}; use the path of a .toml file or one of {', '.join(shipped_slugs())}"
        )
    return parse_protocol(decoded(path.read_bytes(), name, ProtocolError), name=path.name)


def parse_protocol(text: str, *, name: str) -> Protocol:
    """Parse and check the TOML of a protocol; messages cite `name` as the file name."""
    if len(text) > MAX_SIZE:
        raise ProtocolError(f"{name}: {len(text):,} characters; a protocol has at most {MAX_SIZE:,}")
    return read_toml(text, Protocol, name=name, rules=complaints, error=ProtocolError, most=MOST, text=text)
