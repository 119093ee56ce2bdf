"""The facts of a topic: declared once, and read by files, archives and the site."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TopicFacts:
    """A topic. Title, body and narrative are sanitized HTML; scenario and criteria are plain text."""

    code: str
    title: str = ""
    body: str = ""
    narrative: str = ""
    tags: tuple[str, ...] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    subtopics: tuple[dict[str, str], ...] = ()  # as `assay.formats.topics.subtopics` describes them
    formula_id: str = ""
    latex: str = ""
    thread: str = ""
    source: str = ""
    scenario: str = ""
    criteria: str = ""
    known_item: str = ""
    split: str = ""  # such as train or test
