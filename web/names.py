"""Names, and every other text of one line: what they may contain. Forms, the API and the models ask here.

A name becomes the subject of an e-mail, a heading and the name of a file. So it has one line, nothing that nobody sees,
and nothing that changes the order of the letters around it.
"""

import unicodedata
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import gettext

HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, formats, half surrogates, ends of lines
JOINERS = "\u200c\u200d"  # which Persian and the scripts of India need
BREAKS = frozenset("\n\r\v\f\x85\u2028\u2029")
# Letters that look like those of ASCII: of the Cyrillic, Greek and Latin alphabets, and digits
_LIKE = {
    "АВЕКМНОРСТУХІЈЅаеорсухіјѕһԁԛԝкмт": "ABEKMHOPCTYXlJSaeopcyxijshdqwkmt",
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧονακρικυγχ": "ABEZHlKMNOPTYXovakpikuyx",
    "ıɑɡ01I": "iagoll",
}
LOOKALIKES = str.maketrans("".join(_LIKE), "".join(_LIKE.values()))
EAST_ASIAN = {"CJK", "HIRAGANA", "KATAKANA", "HANGUL", "KATAKANA-HIRAGANA", "IDEOGRAPHIC", "BOPOMOFO"}
BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols without ink


def problem_of(text: str) -> str:
    """The fault of a name or another text of one line, as a sentence; empty if there is none."""
    hidden = next(filter(_is_hidden, text), "")
    if hidden in BREAKS:
        return gettext("Use one line: this text has a line break.")
    if hidden:
        code = f"U+{ord(hidden):04X} {unicodedata.name(hidden, '')}".rstrip()
        return gettext("Remove the character {code}, which cannot be seen.").format(code=code)
    if not any(unicodedata.category(letter)[0] in "LNPS" and letter not in BLANK for letter in text):
        return gettext("Use at least one character that can be seen.")
    return ""


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in HIDDEN and character not in JOINERS


def shape_of(name: str) -> str:
    """The look of a name: two names of one shape look the same.

    >>> shape_of("Аdа1") == shape_of("Adal")  # the first has two letters of the Cyrillic alphabet, and a digit
    True
    """
    return unicodedata.normalize("NFKC", name).translate(LOOKALIKES).casefold()


def mixes_alphabets(name: str) -> bool:
    """Return whether the letters of a name are of more than one alphabet, as a Cyrillic one among Latin ones.

    >>> mixes_alphabets("аda"), mixes_alphabets("ада_3"), mixes_alphabets("山田たろう")
    (True, False, False)
    """
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", name))
    alphabets = {unicodedata.name(letter, "").split(" ")[0] for letter in letters}
    return len(alphabets - EAST_ASIAN) + bool(alphabets & EAST_ASIAN) > 1


def check_line(text: object) -> None:
    """Validate a text of one line, for forms, the API and models.

    Raises:
        ValidationError: It has a line break, a character that nobody sees, or nothing that somebody sees.
    """
    if problem := problem_of(str(text)):
        raise ValidationError(problem, code="not-a-line")


def in_isolation(name: object) -> str:
    """A name whose direction does not turn the text around it, where no HTML can be: in options and labels."""
    return f"\u2068{name}\u2069"


def in_one_line(text: str) -> str:
    """The text without what a line cannot have: each line break and hidden character becomes a space."""
    return " ".join("".join(" " if _is_hidden(character) else character for character in text).split())


class NameField(models.CharField[str, str]):
    """A column of names. The admin and model forms refuse other texts; those from a file or a command become names."""

    default_validators = [check_line]

    def pre_save(self, model_instance: models.Model, add: bool) -> Any:
        value = super().pre_save(model_instance, add)
        if isinstance(value, str) and value and problem_of(value):
            value = in_one_line(value)
            setattr(model_instance, self.attname, value)
        return value

    def deconstruct(self) -> Any:
        """For migrations, it is a `CharField`: the database has the same column."""
        name, _, arguments, options = super().deconstruct()
        return name, "django.db.models.CharField", arguments, options
