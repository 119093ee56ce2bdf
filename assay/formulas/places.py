"""The parts of a thread that contain formulas."""

from typing import Literal, get_args

Place = Literal["title", "question", "answer", "comment"]
PLACES: tuple[str, ...] = get_args(Place)
PLACE_ALIASES = {"body": "question"}  # indexes of topics name the text of a question so
