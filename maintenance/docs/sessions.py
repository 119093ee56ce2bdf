"""Highlights `console` blocks: commands after `$ `, everything else as output.

Pygments' own lexer also takes a line that begins with `#` for a command; our tables begin so.
"""

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Generic, Text
from sphinx.application import Sphinx


class SessionLexer(RegexLexer):  # type: ignore[misc]
    """A session in a shell."""

    tokens = {
        "root": [
            (r"^(\$ )(.*\\\n)", bygroups(Generic.Prompt, Text), "continued"),
            (r"^(\$ )(.*\n)", bygroups(Generic.Prompt, Text)),
            (r".*\n", Generic.Output),
        ],
        "continued": [
            (r"^(> )(.*\\\n)", bygroups(Generic.Prompt, Text)),
            (r"^(> )(.*\n)", bygroups(Generic.Prompt, Text), "#pop"),
            (r"", Text, "#pop"),
        ],
    }


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_lexer("console", SessionLexer)
    return {"parallel_read_safe": True}
