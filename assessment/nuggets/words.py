"""The words of pages for a nugget: a fact that answers state, or a criterion of a rubric."""

from typing import NamedTuple

from django.utils.translation import gettext_noop

from tracks.models import Track
from web.pages import countable


class Words(NamedTuple):
    """Texts of pages. `noun`, `imported` and `former` are nouns that `counted` takes."""

    title: str
    lead: str
    noun: str
    singular: str
    new: str
    add: str
    save: str
    remove: str
    restore: str
    former: str
    imports: str
    imported: str
    skipped: str
    merge: str
    merge_into: str
    similar: str
    merged: str
    vital: str
    okay: str
    none: str
    rewritten: str
    sources: str


NUGGETS = Words(
    title=gettext_noop("Nuggets"),
    lead=gettext_noop("The facts that a good answer states. Answers are judged against frozen lists."),
    noun=countable("nugget"),
    singular=gettext_noop("Nugget"),
    new=gettext_noop("New nugget"),
    add=gettext_noop("Add nugget"),
    save=gettext_noop("Save nugget"),
    remove=gettext_noop("Remove nugget"),
    restore=gettext_noop("Restore nugget"),
    former=countable("merged or removed nugget"),
    imports="Import nuggets",
    imported=countable("new nugget"),
    skipped="Nuggets that a list already has are skipped.",
    merge=gettext_noop("Merge nuggets"),
    merge_into=gettext_noop("Merge the ticked nuggets into"),
    similar=gettext_noop("Similar nuggets"),
    merged=gettext_noop("Merged nugget"),
    vital=gettext_noop("vital"),
    okay=gettext_noop("okay"),
    none=gettext_noop("No nuggets yet. Read the segments, and write each fact that a good answer states."),
    rewritten=gettext_noop("A frozen version has this text. Another text is judged as a new nugget."),
    sources=gettext_noop("Tick the segments that state it: they become its sources."),
)
CRITERIA = Words(
    title=gettext_noop("Rubrics"),
    lead=gettext_noop(
        "Weighted criteria of good answers; a negative weight is for what an answer must avoid. "
        "Answers are judged against frozen rubrics."
    ),
    noun=countable("criterion,criteria"),
    singular=gettext_noop("Criterion"),
    new=gettext_noop("New criterion"),
    add=gettext_noop("Add criterion"),
    save=gettext_noop("Save criterion"),
    remove=gettext_noop("Remove criterion"),
    restore=gettext_noop("Restore criterion"),
    former=countable("merged or removed criterion,merged or removed criteria"),
    imports="Import rubrics",
    imported=countable("new criterion,new criteria"),
    skipped="Criteria that a rubric already has are skipped.",
    merge=gettext_noop("Merge criteria"),
    merge_into=gettext_noop("Merge the ticked criteria into"),
    similar=gettext_noop("Similar criteria"),
    merged=gettext_noop("Merged criterion"),
    vital=gettext_noop("mandatory"),
    okay=gettext_noop("optional"),
    none=gettext_noop("No criteria yet. Write what a good answer does, and what it must avoid."),
    rewritten=gettext_noop("A frozen version has this text. Another text is judged as a new criterion."),
    sources=gettext_noop("Tick the segments that it comes from: they become its sources."),
)


def page_words(track: Track) -> Words:
    return CRITERIA if track.protocol.parsed.judged.has_weights else NUGGETS
