"""Loads protocols from TOML files; the dataclasses of `schema` and the `rules` say what a file may contain.

Decision: ADR 1.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from assay.errors import InputError
from assay.protocols.qrels import grades_in
from assay.protocols.schema import Grade, Protocol, QrelsRules
from assay.structure import decoded, read_toml

DIRECTORY = Path(__file__).parent / "shipped"
STARTERS = Path(__file__).parent / "starters"
MAX_SIZE = 250_000  # characters, of which a template takes most
# tomllib needs time that grows with the square of the length of a dotted key, which is on one line: 12 s for the
# longest file of one line, and for the longest file of long lines. Texts may have lines of any length.
LONGEST_ON_ONE_LINE, LONGEST_LINE = 50_000, 10_000  # characters
TEXT = re.compile(
    r'''"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'{3}.*?(?:\'{3}|\Z)|"(?:[^"\\\n]|\\.)*"?|'[^'\n]*'?|\#[^\n]*''',
    re.DOTALL,
)
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


def starter_guidelines(slug: str) -> str:
    """Guidelines for assessors to begin with, in Markdown; empty for a protocol that does not ship.

    Protocols of several years of one task share them: `arqmath-2020-task1` has those of `arqmath-task1`. A paragraph
    or an item of a list is one line, as an editor wraps it.
    """
    path = STARTERS / f"{re.sub('-20[0-9]{2}(?=-|$)', '', slug)}.md"
    if slug not in shipped_slugs() or not path.is_file():
        return ""
    return re.sub(r"(?<=\S)\n *(?=[^\s#-])", " ", path.read_text(encoding="utf-8"))


def load_protocol(name: str) -> Protocol:
    """Load a shipped protocol by its slug, or any protocol by the path of its TOML file.

    `lab.toml:quality` is the protocol for the set `quality` of its qrels: with its grades and its measures, which are
    those of the qrels of the grades if it has none.

    Raises:
        ProtocolError: There is no such protocol, file or set, or it has an error.
    """
    file, separator, key = name.rpartition(":")
    if separator and (file in shipped_slugs() or file.endswith(".toml")):
        return _for_set(load_protocol(file), key, file)
    if name in shipped_slugs():
        # A test checks the rules of these files; that takes longer than most commands.
        return read_checked(shipped_text(name), name=name)
    path = Path(name)
    if path.suffix != ".toml" or not path.is_file():
        raise ProtocolError(
            f"no protocol {name!r}; use the path of a .toml file or one of {', '.join(shipped_slugs())}"
        )
    return parse_protocol(decoded(path.read_bytes(), name, ProtocolError), name=path.name)


def _for_set(protocol: Protocol, key: str, name: str) -> Protocol:
    rules, scoring = protocol.qrels.set_of(key), protocol.scoring
    if rules is None:
        accepted = ", ".join(qrels_set.key for qrels_set in protocol.qrels.sets)
        raise ProtocolError(
            f"{name}: no set of qrels {key!r}; {f'use {accepted}' if accepted else 'it has none'}"
        )
    measures = scoring.measures_of(key) or scoring.measures
    if rules.preferences:
        return replace(
            protocol,
            qrels=QrelsRules(
                "single", rules.min_relevant, rules.relevant_from, preferences=rules.preferences
            ),
            scoring=replace(scoring, all_measures=measures, relevant_from=rules.relevant_from),
        )
    values = grades_in(protocol, rules)
    if rules.aggregate == "mean":
        values = list(range(values[0], values[-1] + 1))
    grades = tuple(Grade(f"grade-{value}", value, str(value), f"Grade {value}.") for value in values)
    return replace(
        protocol,
        judging=replace(protocol.judging, given_grades=grades),
        qrels=QrelsRules(rules.aggregate, rules.min_relevant, rules.relevant_from),
        scoring=replace(scoring, all_measures=measures, relevant_from=rules.relevant_from),
    )


def read_checked(
    text: str, *, name: str, rules: Callable[[Protocol], Iterable[str]] = lambda _: ()
) -> Protocol:
    """Read the TOML of a protocol whose rules were checked before, perhaps by a version with fewer rules."""
    return read_toml(
        text,
        Protocol,
        name=name,
        rules=rules,
        error=ProtocolError,
        most=MOST,
        is_checked=True,
        text=text,
    )


def parse_protocol(text: str, *, name: str) -> Protocol:
    """Parse and check the TOML of a protocol; messages cite `name` as the file name."""
    from assay.protocols.rules import complaints  # noqa: PLC0415 -- shipped protocols need no rules

    if len(text) > MAX_SIZE:
        raise ProtocolError(f"{name}: {len(text):,} characters; a protocol has at most {MAX_SIZE:,}")
    outside = TEXT.sub('""', text) if len(text) > LONGEST_ON_ONE_LINE else ""
    longest = max(map(len, outside.split("\n")))
    if longest > LONGEST_LINE:
        raise ProtocolError(
            f"{name}: a line of {longest:,} characters outside of texts; in a protocol of more than "
            f"{LONGEST_ON_ONE_LINE:,}, a line has at most {LONGEST_LINE:,}"
        )
    if "extensions" in text:  # first, because the names that they add would be unknown
        read_checked(text, name=name, rules=_missing)
    return read_toml(text, Protocol, name=name, rules=complaints, error=ProtocolError, most=MOST, text=text)


def _missing(protocol: Protocol) -> Iterator[str]:
    for n, name in enumerate(protocol.extensions, 1):
        if name in protocol.missing:
            yield (
                f"extensions[{n}]: the extension {name} is not installed, or ASSAY_EXTENSIONS leaves it out; "
                "see assay extensions"
            )
