"""The parts of a thread that contain formulas, and documents that are in no thread."""

from typing import Literal, get_args

Place = Literal["title", "question", "answer", "comment", "document"]
PLACES: tuple[str, ...] = get_args(Place)
PLACE_ALIASES = {"body": "question"}  # indexes of topics name the text of a question so
