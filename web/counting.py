"""Counted nouns for pages."""


def counted(n: int, noun: str) -> str:
    """`3 runs`, `1 run`. Give an irregular plural after a comma: `counted(2, "batch,batches")` is `2 batches`."""
    singular, _, plural = noun.partition(",")
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"
