"""Counted nouns, sizes and durations for pages."""

MEGABYTE = 1024 * 1024


def counted(n: int, noun: str) -> str:
    """`3 runs`, `1 run`. Give an irregular plural after a comma: `counted(2, "batch,batches")` is `2 batches`."""
    singular, _, plural = noun.partition(",")
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def size(n_bytes: int) -> str:
    """`1,024 MB`, `0.3 MB`, `12 kB`: kilobytes are rounded up, so that only an empty file has none."""
    if n_bytes < MEGABYTE / 10:
        return f"{-(-n_bytes // 1024)} kB"
    megabytes = n_bytes / MEGABYTE
    return f"{megabytes:,.0f} MB" if megabytes >= 100 else f"{megabytes:.1f} MB"


def hours(n: float | None) -> str:
    """A duration in hours: `12 h`, `1.5 h`, `20 min`, at least `1 min` if there is one; `–` if it is not known."""
    if n is None:
        return "–"
    if n < 1:
        return f"{max(n * 60, 1) if n else 0:.0f} min"
    return f"{n:,.0f} h" if n >= 10 else f"{n:.1f} h"
