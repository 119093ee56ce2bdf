"""The direction of texts that people and collections bring: each is isolated, or it turns the words around it."""

import re
from html.parser import HTMLParser

from tests.helpers.templates import FOLDERS

TEXT = re.compile(
    r"\{\{ [^}]*(?:\|(?:as_title|as_body|with_formulas)|\.(?:comment|definition|narrative|remark|passage)\b)[^}]*\}\}"
)
VOID = frozenset(["br", "hr", "img", "input", "link", "meta", "source", "wbr"])
OF_A_CHOICE = {
    "components/choices.html",
    "components/question.html",
}  # hidden: they describe a button to readers


class _Texts(HTMLParser):
    """Collects texts outside an element with `dir="auto"` or `<bdi>`, and text boxes without a direction."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.open: list[tuple[str, bool]] = []
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        has_direction = tag in {"bdi", "title"} or values.get("dir") == "auto"
        if tag == "textarea" and not has_direction and "readonly" not in values:
            self.faults.append(f"line {self.getpos()[0]}: <textarea>")
        if tag not in VOID:
            self.open.append((tag, has_direction))

    def handle_endtag(self, tag: str) -> None:
        places = [place for place, (name, _) in enumerate(self.open) if name == tag]
        if places:
            del self.open[places[-1] :]

    def handle_data(self, data: str) -> None:
        if not any(has_direction for _, has_direction in self.open):
            self.faults += [f"line {self.getpos()[0]}: {text[0]}" for text in TEXT.finditer(data)]


def faults_of(template: str) -> list[str]:
    template = re.sub(r"\{% if [^%]*%\}rtl\{% else %\}auto\{% endif %\}", "auto", template)
    parser = _Texts()
    parser.feed(re.sub(r"\{%.*?%\}", lambda tag: "\n" * tag[0].count("\n"), template, flags=re.DOTALL))
    return parser.faults


def test_texts_of_people_and_collections_have_their_own_direction() -> None:
    faults = {
        name: faults
        for folder in FOLDERS
        for path in sorted(folder.rglob("*.html"))
        if (name := str(path.relative_to(folder))) not in OF_A_CHOICE
        and (faults := faults_of(path.read_text()))
    }

    assert faults == {}


def test_comment_without_a_direction_is_found() -> None:
    assert faults_of('<p dir="auto">{{ vote.comment }}</p><bdi>{{ row.title|as_title }}</bdi>') == []
    assert faults_of("<p>\n{{ vote.comment }}</p><textarea>") == [
        "line 1: {{ vote.comment }}",
        "line 2: <textarea>",
    ]
