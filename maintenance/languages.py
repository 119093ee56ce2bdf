"""Bring the catalogs of translations up to date: `python -m maintenance.languages`. Run it after you change a text.

It reads the texts of pages (`{% translate %}`, `{% blocktranslate %}`, `_()`), of Python (`gettext` and its relatives)
and of scripts (`gettext`), writes new ones without a translation into `locale/LANGUAGE/LC_MESSAGES/*.po`, removes those
that are gone, and compiles the `.mo` files, which are committed. A new language starts as an empty folder in `locale/`
and an entry of `LANGUAGES` in `config/settings.py`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import django
from babel.messages import Catalog
from babel.messages.extract import extract
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "locale"
TEMPLATES = (ROOT / "templates", *ROOT.glob("assay_extensions/*/site/templates"))
FOLDERS = (
    "accounts",
    "assay",
    "assay_extensions",
    "assessment",
    "config",
    "corpus",
    "home",
    "participation",
    "pooling",
    "tracks",
    "web",
)
KEYWORDS = {
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "say": None,  # sentences of the library, which are translated where the site shows them
    "ngettext": (1, 2),
}
CALL = re.compile(r"(?<!\w)(_|n?gettext)\(")  # in what `templatize` makes of a page
LITERAL = re.compile(r"""\s*u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*,?""", re.DOTALL)
# The nouns of `web.pages.counted`
COUNTED = re.compile(r"""count(?:ed\([^"']*?, |ed:|able\()["']([\w ,]+)["']""")
NAMES = re.compile(r"%\((\w+)\)s|\{(\w+)\}")
# Of the head of a catalog: what changes without a change of its texts
NOT_KEPT = tuple(
    f'"{name}'
    for name in (
        "POT-Creation",
        "PO-Revision",
        "Generated-By",
        "Last-",
        "Report-",
        "Language-Team",
        "Project",
    )
)


class Text(NamedTuple):
    """A source text; `plural` is empty if it has one form only."""

    source: str
    plural: str = ""

    @property
    def id(self) -> str | tuple[str, str]:
        return (self.source, self.plural) if self.plural else self.source


def texts_of_page(source: str) -> Iterator[Text]:
    code = templatize(source)
    for match in CALL.finditer(code):
        end = match.end()
        # Up to the end of the call, or to the number that it counts
        while literal := LITERAL.match(code, end):
            end = literal.end()
        literals = ast.literal_eval(f"[{code[match.end() : end]}]")
        yield Text(*literals[: 2 if match[1] == "ngettext" else 1])


def texts_of_python(path: Path) -> Iterator[Text]:
    with path.open("rb") as file:
        for _, message, _, _ in extract("python", file, keywords=KEYWORDS):
            yield Text(*message) if isinstance(message, tuple) else Text(message)


def nouns_in(source: str) -> Iterator[Text]:
    """The nouns that a page or a module counts, as `web.pages.counted` looks them up."""
    for match in COUNTED.finditer(source):
        singular, _, plural = match[1].partition(",")
        yield Text(f"{{n}} {singular}", f"{{n}} {plural or singular + 's'}")


def texts_of_site() -> set[Text]:
    """The texts of the pages that are translated, and of Python."""
    texts: set[Text] = set()
    for path in sorted(path for folder in TEMPLATES for path in folder.rglob("*.[ht][tx]*")):
        source = path.read_text(encoding="utf-8")
        if "translate " in source:
            texts |= {*texts_of_page(source), *nouns_in(source)}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            source = path.read_text(encoding="utf-8")
            if "gettext" in source or "say(" in source or "countable(" in source:
                texts |= {*texts_of_python(path), *nouns_in(source)}
    return texts


def texts_of_scripts() -> set[Text]:
    """The texts of the scripts of translated pages."""
    texts: set[Text] = set()
    for path in sorted((ROOT / "static").glob("[!v]*/*.js")):
        with path.open("rb") as file:
            texts |= {
                Text(message)
                for _, message, _, _ in extract("javascript", file, keywords={"gettext": None})
                if isinstance(message, str)
            }
    return texts


DOMAINS = {"django": texts_of_site, "djangojs": texts_of_scripts}


def languages() -> list[str]:
    """The languages that Assay has, besides English."""
    return sorted(folder.name for folder in LOCALE.iterdir() if folder.is_dir())


def path_of(language: str, domain: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / f"{domain}.po"


def catalog_of(language: str, domain: str) -> Catalog:
    """The catalog of a language, or an empty one."""
    path = path_of(language, domain)
    if not path.exists():
        return Catalog(locale=language)
    with path.open("rb") as file:
        return read_po(file, locale=language)


def compiled(catalog: Catalog) -> bytes:
    """The `.mo` file of a catalog, the same bytes for the same texts."""
    catalog.creation_date = catalog.revision_date = datetime(2000, 1, 1, tzinfo=UTC)
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def names_in(text: str) -> set[str]:
    return {first or second for first, second in NAMES.findall(text)}


def problems_of(language: str, domain: str) -> list[str]:
    """Problems of a catalog: texts without translation, and translations that are old, unsure or take other values."""
    catalog, texts = catalog_of(language, domain), DOMAINS[domain]()
    problems = [
        f"not in the source: {message.id}"
        for message in catalog
        if message.id and Text(*_ids(message.id)) not in texts
    ]
    for text in sorted(texts):
        message = catalog.get(text.id)
        forms = _ids(message.string) if message and message.string else ()
        if message is None or message.fuzzy or len(forms) != (catalog.num_plurals if text.plural else 1):
            problems.append(f"not translated: {text.source}")
            continue
        for form in forms:
            wanted, given = names_in(text.plural or text.source), names_in(form)
            # a form for one number may leave the number out
            if not form or given - wanted or (wanted - given) - ({"n"} if text.plural else set()):
                problems.append(f"{text.source}: {form or 'empty'}")
    return problems


def _ids(value: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def renew(language: str, domain: str) -> None:
    """Write the catalog with the present texts, and its `.mo` file. The head of the file stays."""
    catalog, texts = catalog_of(language, domain), DOMAINS[domain]()
    for message in list(catalog):
        if message.id and Text(*_ids(message.id)) not in texts:
            catalog.delete(message.id)
    for text in texts:
        if catalog.get(text.id) is None:
            catalog.add(text.id)
    file = BytesIO()
    write_po(file, catalog, width=110, sort_output=True, ignore_obsolete=True)
    lines = file.getvalue().decode().splitlines(keepends=True)
    path = path_of(language, domain)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line for line in lines if not line.startswith(NOT_KEPT)), encoding="utf-8")
    path.with_suffix(".mo").write_bytes(compiled(catalog_of(language, domain)))


def main() -> None:
    from django.conf import settings  # noqa: PLC0415

    settings.configure(USE_I18N=True)
    django.setup()
    for language in languages():
        for domain in DOMAINS:
            renew(language, domain)
            problems = problems_of(language, domain)
            sys.stdout.write(
                f"{language} {domain}: {len(problems)} problems\n" + "".join(f"  {p}\n" for p in problems)
            )


if __name__ == "__main__":
    main()
