"""The naming scheme of tags, such as `{team}-{kind}-{number}`: how a tag is compared with it, and an example."""

import re
from collections.abc import Mapping, Sequence

PLACE = re.compile(r"\{([^{}]*)\}")
PLACES = {
    "team": "the name of the team, with hyphens for spaces",
    "kind": "the key of the kind of the run",
    "topics": "the split of topics that runs of the kind are for",
    "number": "a number from 1",
    "name": "any characters",
}
Words = Mapping[str, Sequence[str]]  # those that a place may have; without an entry, any


def is_named(tag: str, scheme: str, words: Words) -> bool:
    """Return whether a tag follows a scheme. Upper and lower case are the same.

    >>> is_named("owls-Main-2", "{team}-{kind}-{number}", {"team": ["Owls"], "kind": ["main", "other"]})
    True
    >>> is_named("Owls-main-0", "{team}-{kind}-{number}", {"team": ["Owls"], "kind": ["main", "other"]})
    False
    """
    anything = {"number": "[1-9][0-9]*"}
    parts = PLACE.split(scheme)  # text, place, text, …
    parts[1::2] = [
        f"(?:{'|'.join(map(re.escape, words[place]))})" if place in words else anything.get(place, r"\S+")
        for place in parts[1::2]
    ]
    parts[::2] = map(re.escape, parts[::2])
    return re.fullmatch("".join(parts), tag, re.IGNORECASE) is not None


def named(scheme: str, words: Words, number: int = 1) -> str:
    """A tag that follows a scheme, with the first word of each place.

    >>> named("{team}_{name}{number}", {"team": ["Owls"]})
    'Owls_run1'
    """
    usual = {"number": str(number), "name": "run", "team": "Owls"}
    return PLACE.sub(lambda match: next(iter(words.get(match[1], ())), "") or usual.get(match[1], ""), scheme)
