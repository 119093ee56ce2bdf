"""Formulas: their Symbol Layout Tree strings (`slt`), and their clusters by appearance (`visual_ids`).

A formula is in a part of a thread, or in a document that is in no thread.
"""

from typing import Literal, get_args

Place = Literal["title", "question", "answer", "comment", "document"]
PLACES: tuple[str, ...] = get_args(Place)
PLACE_ALIASES = {"body": "question"}  # indexes of topics name the text of a question so
