"""The submission XML of BOLT IR: passages of forum posts, cited by their position::

    bolt-ir-submission[team, date, eval, subtask, run, contact]
      > response[number] > cite[score, thread, post, offset, length], with the English passage as its text

A `cite` may have the words of the post as `original`, an attribute or an element, and may mark the relevant part of its
passage as `relspan`. Both are accepted; `relspan` changes nothing.
`run` is the condition, which is the kind of run; the form has no tag. `team` should be the team that submits. The id
of a citation is `thread:post:offset:length`, with numbers without leading zeros. The id of a thread may contain colons,
so the id of a citation is read from its end. White space in a passage is reduced to single spaces, and stripped at its
ends.
"""

import re
from collections.abc import Mapping

from assay.formats.compression import Limits
from assay.formats.reports import Tally
from assay.formats.runs.elements import Elements
from assay.formats.runs.rows import quoted, score_of
from assay.formats.runs.rules import Expected

NEEDED = ("team", "date", "eval", "subtask", "run", "contact")
STATED = ("date", "eval", "subtask", "contact")  # kept with the report of the run
MAX_STATED = 500  # characters of each
ACCEPTED = "bolt-ir-submission > response > cite, the passage as text."
INSIDE = {
    "bolt-ir-submission": ("",),
    "response": ("bolt-ir-submission",),
    "cite": ("response",),
    "original": ("cite",),
    "relspan": ("cite", "original"),
}
NUMBER = re.compile(r"[0-9]{1,9}")
LONGEST = 1000  # characters of a passage, even if the protocol has no limit or a higher one
KEPT = 20_000  # characters of a passage that are read


class BoltElements(Elements):
    """Collects the citations of one run."""

    def __init__(self, expected: Expected, limits: Limits, tally: Tally) -> None:
        super().__init__(expected, limits, tally)
        self._topic: str | None = None
        self._cite: Mapping[str, str] | None = None
        self._number = 0
        self._text: list[str] = []
        self._original: list[str] = []
        self._is_original = False
        self._n_text = 0

    def start(self, name: str, attributes: Mapping[str, str], number: int, parent: str) -> None:
        forbidden = self.expected.rules.forbidden_fields
        for key in (key for key in (name, *attributes) if key in forbidden):
            accepted = f"A submission without {', '.join(forbidden)}."
            self.tally.error(
                "forbidden-field", f"only assessors fill in {key}, not systems", accepted, number
            )
        if parent not in INSIDE.get(name, ()):
            if name not in forbidden:
                self.misplaced(name, parent, number, ACCEPTED)
        elif name == "bolt-ir-submission":
            values = {key: self.attribute(attributes, name, key, number) for key in NEEDED}
            self._take_root(values, number)
        elif name == "response":
            self._topic = self.topic(attributes, name, "number", number)
        elif name == "cite":
            self.count_ranked()
            self._cite, self._number, self._text, self._n_text = attributes, number, [], 0
            self._original, self.wants_text = [attributes.get("original", "")], True
        self._is_original = self._is_original or name == "original"

    def _take_root(self, values: Mapping[str, str | None], number: int) -> None:
        """Take the condition, which is the kind of run, and check it and the other attributes."""
        self.stated = {key: value[:MAX_STATED] for key in STATED if (value := values[key]) is not None}
        kinds, declared, condition = self.expected.rules.keys, self.expected.kind, values["run"]
        if condition is not None and condition not in kinds:
            message = f"run {quoted(condition.encode())} is not a condition of the protocol"
            self.tally.error("condition", message, f"One of {', '.join(kinds)}.", number)
        elif condition is not None and declared and condition != declared:
            message = f"the file is a run of the kind {condition}, but {declared} was declared"
            self.tally.error("condition", message, f'<bolt-ir-submission run="{declared}" …>.', number)
        else:
            self.kind = condition or self.kind
        # A file that names another team may be the run of that team.
        named, team = values["team"], self.expected.team
        if named and team and " ".join(named.split()).casefold() != " ".join(team.split()).casefold():
            message = f"the file names the team {quoted(named.encode())}, but {team} submits it"
            self.tally.warning("team", message, f'<bolt-ir-submission team="{team}" …>.', number)
        for key, accepted in self.expected.rules.attributes.items():
            if (value := values[key]) is not None and value not in accepted:
                message = f"{key} {quoted(value.encode())} is not accepted by the protocol"
                self.tally.error("attribute", message, f"{' or '.join(accepted)}.", number)

    def text(self, data: str) -> None:
        if self._n_text < KEPT:
            (self._original if self._is_original else self._text).append(data)
            self._n_text += len(data)

    def end(self, name: str, parent: str) -> None:
        if name == "original":
            self._is_original = False
        if name == "cite" and parent == "response" and self._cite is not None:
            self._take(self._cite)
            self._cite, self.wants_text = None, False

    def _take(self, cite: Mapping[str, str]) -> None:
        parts = [self.attribute(cite, "cite", key, self._number) for key in ("thread", "post")]
        parts += [self._whole_number(cite, key, least) for key, least in (("offset", 0), ("length", 1))]
        words = [part for part in parts if part is not None]
        docno = self.docno(":".join(words), self._number) if len(words) == len(parts) else None
        word = self.attribute(cite, "cite", "score", self._number)
        score = None if word is None else score_of(word.encode(), self._number, self.tally)
        passage = " ".join("".join(self._text).split())
        most = min(self.expected.rules.max_passage_characters or LONGEST, LONGEST)
        if not passage:
            message = "the citation has no passage"
            self.tally.error("passage", message, "The passage in English.", self._number)
        elif len(passage) > most:
            message = f"the passage has more than {most} characters"
            note = f"{len(passage):,} characters" if self._n_text < KEPT else ""
            accepted = f"At most {most} characters."
            self.tally.error("passage-too-long", message, accepted, self._number, note=note)
        passage = passage[:most]
        if self._topic is None or docno is None:
            return
        original = " ".join("".join(self._original).split())
        self.add(self._topic, docno, 0, score, self._number, passage, original)
        self.count_tag("", self._number)

    def _whole_number(self, cite: Mapping[str, str], key: str, least: int) -> str | None:
        value = self.attribute(cite, "cite", key, self._number)
        if value is None:
            return None
        if NUMBER.fullmatch(value) and int(value) >= least:
            return str(int(value))
        problem = f"is not a whole number of at least {least}"
        accepted = "A number of characters, counted from 0 after the post's tag."
        message, fault = f"{key} {quoted(value.encode())} {problem}", f"the {key} {problem}"
        self.tally.error("offset", message, accepted, self._number, fault=fault)
        return None
