"""Find words that give a team away in texts, ignoring case, and replace them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

WORD = re.compile(r"\w+")
HIDDEN = "[hidden]"
AROUND = 60  # characters of an example before and after a term
LEAST = 2  # characters of a term


class Found(NamedTuple):
    """A term in the text of a run: its number of occurrences, and the first of them."""

    term: str
    n: int
    example: str


class Terms:
    """Search for terms as whole words. The time depends on the length of the text, not on the number of terms."""

    def __init__(self, terms: Iterable[str]) -> None:
        self._by_word: defaultdict[str, list[str]] = defaultdict(list)
        for term in {term.strip().lower() for term in terms}:
            if len(term) >= LEAST and (first := WORD.search(term)):
                self._by_word[first[0]].append(term[first.start() :])
        for candidates in self._by_word.values():
            candidates.sort(key=len, reverse=True)

    def places(self, text: str) -> Iterator[tuple[int, int, str]]:
        """The start and end of each term in a text, and the term: the longest at a place, and no key of JSON."""
        end = 0
        for word in WORD.finditer(text):
            start = word.start()
            if start < end:
                continue
            for term in self._by_word.get(word[0].lower(), ()):
                end_of_term = start + len(term)
                if text[start - 1 : start] == '"' and text.startswith('": ', end_of_term):
                    continue  # a key of JSON
                if (
                    text[start:end_of_term].lower() == term
                    and not text[end_of_term : end_of_term + 1].isalnum()
                ):
                    end = end_of_term
                    yield start, end, term
                    break

    def found(self, text: str) -> list[Found]:
        counts, examples = Counter[str](), dict[str, str]()
        for start, end, term in self.places(text):
            counts[term] += 1
            if term not in examples:
                examples[term] = " ".join(text[max(0, start - AROUND) : end + AROUND].split())
        return [Found(term, n, examples[term]) for term, n in sorted(counts.items())]

    def replaced(self, text: str, by: Mapping[str, str] | str = HIDDEN) -> str:
        """The text with each term replaced: by its entry in the mapping, or all by the same text."""
        parts, last = list[str](), 0
        for start, end, term in self.places(text):
            parts += [text[last:start], by if isinstance(by, str) else by[term]]
            last = end
        return "".join([*parts, text[last:]])
