"""The results XML of the NTCIR MathIR tasks::

    results > run[runtag] > result[for] > hit[xref, score, rank] > formula[xref, for]

The first element may also be a single `run` or `result`. Other elements in a hit, such as qvar, are skipped. `for`
names the topic. A hit is one row. Its id is its `xref`; where formulas are judged and the hit names a formula, the id
is the `xref` of the formula. If that is `folder/0710.3032_1_22.xhtml#p1.m2`, the id is the name of the file without its
suffix, # and the id of the element, or that alone if it names the article (`Abel_equation:3`): as articles are
imported. The last id of an XPath is taken (`//*[@id='p1.m2']/m:mrow`). A hit may omit its score if all hits of
its topic do; then the ranks decide.
"""

import re
from collections.abc import Mapping

from assay.formats.compression import Limits
from assay.formats.reports import Tally
from assay.formats.runs.elements import Elements
from assay.formats.runs.rows import MAX_NAME, rank_of, score_of
from assay.formats.runs.rules import Expected

SUFFIX = re.compile(r"\.(?:x?html?|xhtml5|xht|xml)$", re.IGNORECASE)
OWN_ID = re.compile(r"""(?:\bid\(|@(?:xml:)?id\s*=)\s*["']([^"'#\s]+)["']""")
PATHS = ("/", "xpointer(", "element(", "xmlns(")
INSIDE = {"run": {"results", ""}, "result": {"run", "results", ""}, "hit": {"result"}}
ACCEPTED = "results > run > result > hit > formula."


class NtcirElements(Elements):
    """Collects the hits of one run."""

    def __init__(self, expected: Expected, limits: Limits, tally: Tally) -> None:
        super().__init__(expected, limits, tally)
        self._topic: str | None = None
        self._hit: Mapping[str, str] | None = None
        self._number = 0
        self._formulas: list[str] = []
        self._n_hits = 0  # of the result
        self._scored: dict[str, bool] = {}  # by topic
        self._unscored_lines: list[int] = []

    def start(self, name: str, attributes: Mapping[str, str], number: int, parent: str) -> None:
        if name in INSIDE and parent not in INSIDE[name]:
            self.misplaced(name, parent, number, ACCEPTED)
        elif name == "run":
            self.tag = self.name(self.attribute(attributes, name, "runtag", number), "tag", MAX_NAME, number)
        elif name == "result":
            self._topic = self.topic(attributes, name, "for", number)
            self._n_hits = 0
        elif name == "hit":
            self.count_ranked()
            self._hit, self._number, self._formulas = attributes, number, []
        elif name == "formula" and parent == "hit" and attributes.get("xref", "").strip():
            self._formulas.append(attributes["xref"].strip())

    def end(self, name: str, parent: str) -> None:
        if name == "hit" and parent == "result" and self._hit is not None:
            self._n_hits += 1
            self._take(self._hit)
            self._hit = None
        elif name == "result":
            self._topic = None

    def _take(self, hit: Mapping[str, str]) -> None:
        if self.expected.noun[0] == "formula" and self._formulas:
            if len(set(self._formulas)) > 1:
                message = "the hit names several formulas; the first one is ranked"
                self.tally.warning("several-formulas", message, "One formula per hit.", self._number)
            named: str | None = self._formulas[0]
            file, mark, own = self._formulas[0].rpartition("#")
            if mark and own:  # the file of the formula and its id there, not its id alone
                ids = OWN_ID.findall(own)  # of the elements on an XPath or XPointer
                own = ids[-1] if ids else own
                is_whole = ":" in own and not own.startswith(PATHS)
                named = own if is_whole else f"{SUFFIX.sub('', file.rpartition('/')[2])}#{own}"
        else:
            named = self.attribute(hit, "hit", "xref", self._number)
        docno = self.docno(named, self._number)
        score, rank = self._score_and_rank(hit)
        if self._topic is None or docno is None:
            return
        self.add(self._topic, docno, rank, score, self._number)
        if self.tag is not None:
            self.count_tag(self.tag, self._number)

    def _score_and_rank(self, hit: Mapping[str, str]) -> tuple[float | None, int]:
        rank_word, score_word = hit.get("rank", "").strip(), hit.get("score", "").strip()
        rank = self._n_hits
        if rank_word:
            rank = rank_of(rank_word.encode(), self._number, self.tally, decides=not score_word)
        if score_word:
            self._note_score(True)
            return score_of(score_word.encode(), self._number, self.tally), rank
        if not rank_word:
            message = "the hit has neither score nor rank"
            self.tally.error("score", message, "A score, or a rank in all hits of the topic.", self._number)
            return None, rank
        self._note_score(False)
        return float(-rank), rank

    def _note_score(self, has_score: bool) -> None:
        if not has_score:
            self._unscored_lines.append(self._number)
        if self._topic is not None and self._scored.setdefault(self._topic, has_score) != has_score:
            message = "some hits of the topic have a score, others do not"
            self.tally.error("score", message, "A score in all hits of a topic, or in none.", self._number)

    def finish(self) -> None:
        if self._unscored_lines:
            message, lines = "the hit has no score; the rank decides", self._unscored_lines
            self.tally.warning("no-scores", message, "A score in each hit.", n=len(lines), numbers=lines)
        if self.tags.keys() == {b""}:
            message = "The file does not name the run; give its tag when you submit it, or it gets one."
            self.tally.warning("no-tag", message, '<run runtag="…"> around the results.')
