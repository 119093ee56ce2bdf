"""Where in a thread a formula can stand."""

from typing import Literal, get_args

Place = Literal["title", "question", "answer", "comment"]
PLACES: tuple[str, ...] = get_args(Place)
