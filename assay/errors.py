"""The errors of the library and the words of its messages. The command `assay` prints an error, and ends."""

from collections.abc import Mapping, Sequence


class AssayError(Exception):
    """The library cannot do what was requested. `exit_status` is that of a command that ends with it."""

    exit_status = 2


class Sentence(str):
    """A text in English that remembers its template and values, so that the site can say it in another language."""

    template: str
    values: Mapping[str, object]


def say(template: str, **values: object) -> Sentence:
    """Return a text from a template with names such as `{label}`; a value can be a `Sentence` too.

    >>> say("Answer “{label}”", label="Why?")
    'Answer “Why?”'
    """
    sentence = Sentence(template.format(**values))
    sentence.template, sentence.values = template, values
    return sentence


def plural(n: int, noun: str) -> str:
    """Return a number with its noun. Give an irregular plural after a comma.

    >>> plural(1, "run"), plural(1_200, "run"), plural(2, "unit is,units are")
    ('1 run', '1,200 runs', '2 units are')
    """
    singular, _, several = noun.partition(",")
    return f"{n:,} {singular if n == 1 else several or singular + 's'}"


def kebab(name: str) -> str:
    """Return the name of a class as programs read it.

    >>> kebab("TagTaken")
    'tag-taken'
    """
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


class InputError(AssayError, ValueError):
    """A file, option or name cannot be used: where, what is wrong, and what is accepted."""

    # The errors of a file, each with line, code and message, for programs; a file of keys, such as a protocol, also has
    # the key of each.
    errors: Sequence[Mapping[str, object]] = ()


class InputWarning(UserWarning):
    """An input can be used, but is probably not what was meant, such as a run without any judged document."""


class Refused(AssayError):
    """A request breaks a rule. A middleware turns it into a page or problem+json; a command into CommandError.

    `code` is for programs: without it, the name of the class. `title` is the heading of the page. `errors` are those of
    a file or list, for programs: each with its line or field, code and message. With a `field`, the refusal is about
    that one, and a form shows it there.
    """

    title = "That is not possible"

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        title: str = "",
        errors: Sequence[Mapping[str, object]] = (),
        field: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.title = message, code or kebab(type(self).__name__), title or self.title
        self.errors, self.field = errors, field


class NotMeasurable(InputError, Refused):
    """A measure cannot be computed from this run and these qrels."""


class BadFile(Refused):
    """A file cannot be imported as it is."""

    title = "This file cannot be imported"
