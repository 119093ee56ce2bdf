"""Text for LaTeX, whatever it contains: names of teams and tags of runs come from strangers."""

import re

SPECIAL = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{character: f"\\{character}" for character in "&%$#_{}"},
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"{\char34}",  # in every font encoding, and where babel makes the character active
        "`": r"{\char96}",
        # after the end of a row, LaTeX would read these as arguments
        **{character: f"{{{character}}}" for character in "[]*"},
        "✓": r"$\checkmark$",
        "′": r"$^\prime$",
        "–": "--",
        "τ": r"$\tau$",
        "≥": r"$\geq$",
    }
)
# Control characters, and those that reverse the direction of the text that follows.
_UNPRINTABLE = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LIGATURE = re.compile("-(?=-)|'(?=')|,(?=,)|[?!](?=`)")


def escape(text: str) -> str:
    r"""Text as LaTeX prints it, on one line.

    >>> escape("50% of R&D\n\\input{x}")
    '50\\% of R\\&D \\textbackslash{}input\\{x\\}'
    """
    text = " ".join(_UNPRINTABLE.sub("", text).split())
    parts = _LIGATURE.sub(lambda match: match[0] + "\0", text)
    return parts.translate(SPECIAL).replace("\0", "{}")


def measure_name(name: str) -> str:
    """The name of a measure; its apostrophe is a prime."""
    return escape(name.replace("'", "′"))
