"""Write a protocol in the browser: a draft of its TOML, which only its owner sees, saved at each change."""

import re
import tomllib
from collections.abc import Sequence
from itertools import count

from django.db import transaction
from django.utils.text import slugify

from accounts.models import User
from assay.errors import Refused
from assay.protocols.form_rules import MAX_KIND
from assay.protocols.rules import MAX_SLUG
from tracks.drafts.changes import Change, changed
from tracks.drafts.checks import check
from tracks.drafts.schema import has_key, is_key, parent_of, tables_at, value_at
from tracks.models import ProtocolDraft, StoredProtocol
from tracks.protocols.services import store

MAX_DRAFTS = 20  # of a person


class DraftChanged(Refused):
    """The draft was changed in another window after the page was shown. `mine` is the text with the refused change."""

    title = "Changed in another window"

    def __init__(self, draft: ProtocolDraft, mine: str) -> None:
        super().__init__("This draft was changed in another window after this page was shown. Choose a text.")
        self.draft, self.mine = draft, mine


@transaction.atomic
def create(*, owner: User, text: str = "", base: StoredProtocol | None = None) -> ProtocolDraft:
    """Begin a draft with a text, or with that of a stored protocol under a name that no protocol has.

    Raises:
        Refused: The person has as many as are kept.
    """
    if ProtocolDraft.objects.filter(owner=owner).count() >= MAX_DRAFTS:
        raise Refused(
            f"You have {MAX_DRAFTS} drafts of protocols. Discard one first.", code="too-many-drafts"
        )
    text = _adapted_text(base) if base else _normalized(text)
    return ProtocolDraft.objects.create(owner=owner, text=text, good=text if is_toml(text) else "", base=base)


@transaction.atomic
def change_keys(*, draft: ProtocolDraft, revision: int, changes: Sequence[Change]) -> ProtocolDraft:
    """Change keys of a draft; nothing else in its text changes. A label of something new also makes its key.

    Raises:
        Refused: The text is not TOML, or has a key in a form that cannot be changed by itself.
        DraftChanged: The draft was changed after this revision.
    """
    draft = _locked(draft)
    if not is_toml(draft.text):
        raise Refused(
            "Correct the TOML first; then the form can be used again.",
            code="not-toml",
            title="The text is not TOML",
        )
    text = draft.text
    for change in changes:
        steps = [*_following_keys(text, change, draft.base_text), change, *_following_choices(text, change)]
        for step in steps:
            text = changed(text, step, draft.base_text)
    return _save(draft, revision, text)


@transaction.atomic
def replace_text(*, draft: ProtocolDraft, revision: int, text: str) -> ProtocolDraft:
    """Store a text as it is, even if it is not TOML.

    Raises:
        DraftChanged: The draft was changed after this revision.
    """
    return _save(_locked(draft), revision, _normalized(text))


@transaction.atomic
def add(*, draft: ProtocolDraft) -> StoredProtocol:
    """Store a draft as a protocol, which never changes, and remove the draft.

    Raises:
        Refused: The draft has errors.
    """
    draft = _locked(draft)
    if problems := check(draft.text).errors:
        raise Refused(problems[0].message, code="has-errors", title="The protocol has errors")
    stored = store(text=draft.text, by=draft.owner)
    draft.delete()
    return stored


@transaction.atomic
def discard(*, draft: ProtocolDraft) -> None:
    draft.delete()


def is_toml(text: str) -> bool:
    return not check(text).syntax


def _adapted_text(base: StoredProtocol) -> str:
    """The text of a stored protocol with another slug and title, and with a source of its own."""
    slugs = set(StoredProtocol.objects.values_list("slug", flat=True))
    slug = next(made for n in count(2) if (made := _numbered_slug(base.slug, n)) not in slugs)
    title = f"{base.title} ({slug.rpartition('-')[2]})"
    source = f"Adapted from {base.title} ({base.slug}). {base.parsed.source}"
    text = changed(_normalized(base.text), Change("slug", "set", slug))
    return changed(changed(text, Change("title", "set", title)), Change("source", "set", source))


def _numbered_slug(slug: str, n: int) -> str:
    return f"{slug[: MAX_SLUG - 4]}-{n}"


def _normalized(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _locked(draft: ProtocolDraft) -> ProtocolDraft:
    return (
        ProtocolDraft.objects.select_for_update(of=("self",)).select_related("base", "owner").get(pk=draft.pk)
    )


def _save(draft: ProtocolDraft, revision: int, text: str) -> ProtocolDraft:
    if text == draft.text:
        return draft
    if revision != draft.revision:
        raise DraftChanged(draft, text)
    draft.text, draft.revision = text, draft.revision + 1
    draft.good = text if is_toml(text) else draft.good
    draft.save()
    return draft


def _following_keys(text: str, change: Change, base: str) -> list[Change]:
    """The slug that follows from the title, or the key that follows from a label, if it is new and nothing names it."""
    table, _, field = change.path.rpartition(".")
    if change.op != "set" or not isinstance(change.value, str) or field not in ("label", "title"):
        return []
    data, base_data = tomllib.loads(text), tomllib.loads(base)
    label, key_of_label = str(value_at(data, change.path) or ""), slugify(change.value)
    if not table:
        number = str(data.get("slug", "")).rpartition("-")[2]
        adapted = _numbered_slug(str(base_data.get("slug", "")), int(number)) if number.isdecimal() else None
        follows = data.get("slug") in (None, "", adapted, slugify(label))
        return [Change("slug", "set", key_of_label[:MAX_SLUG].strip("-"))] if follows and key_of_label else []
    if not has_key(table):
        return []
    name, key = table.rpartition("[")[0], value_at(data, f"{table}.key")
    kept = {entry.get("key") for entry in tables_at(base_data, name)}
    others = {entry.get("key") for entry in tables_at(data, name)} - {key}
    is_new = key not in kept and key == slugify(label)[:MAX_KIND].strip("-")
    follows = not key or (is_new and len(re.findall(rf"[\"':]{re.escape(key)}[\"':]", text)) < 2)
    new = key_of_label[:MAX_KIND].strip("-")
    return [Change(f"{table}.key", "set", new)] if follows and new and new not in others else []


def _following_choices(text: str, change: Change) -> list[Change]:
    """Two empty choices of a question that needs some, which go if its kind changes to one that has none."""
    data, question, kind = tomllib.loads(text), parent_of(change.path), change.value
    if change.op == "add":
        question = f"{change.path}[{len(tables_at(data, change.path)) + 1}]"
        kind = (change.value or {}).get("kind", "one-of")
    path = f"{question}.choice"
    if change.op not in ("add", "set") or (change.op == "set" and not change.path.endswith(".kind")):
        return []
    if not is_key(path) or not is_key(f"{question}.kind"):
        return []
    choices = tables_at(data, path)
    if kind in ("one-of", "any-of", "ranking"):
        return [] if choices else [Change(path, "add", {})] * 2
    return [Change(f"{path}[1]", "remove")] * len(choices) if not any(choices) else []
