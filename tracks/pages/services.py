"""Publish the texts of the site. A published version is never changed."""

from functools import partial

from django.db import IntegrityError, transaction

from accounts.audit import services as audit
from accounts.models import User
from assay.errors import Refused
from tracks.markdown import TextChanged, plain_html
from tracks.models import SitePage
from tracks.pages.selectors import page_text

NOT_CHANGED = "The page was not changed"
page_refused = partial(Refused, code="page-refused", title=NOT_CHANGED)


def _changed(revision: int) -> TextChanged:
    return TextChanged(
        "Somebody else published another text after you opened the editor. Your text is kept on this page. "
        "Open the page in another tab to compare; publish again to replace the other text.",
        revision=revision,
        code="page-changed",
        title=NOT_CHANGED,
    )


@transaction.atomic
def publish(*, name: str, text: str, revision: int, by: User) -> SitePage:
    """Show a text from now on. `revision` is the number of the version that it replaces, 0 for the first.

    Raises:
        TextChanged, Refused: Another version was published meanwhile; or the text is empty, or the same as before.
    """
    current = page_text(name)
    if current.number != revision:
        raise _changed(current.number)
    if not text.strip():
        raise page_refused("The text is empty. Write it, then publish.")
    if current.text == text:
        raise page_refused("The text is the same as before. Change it, then publish.")
    page = SitePage(name=name, number=revision + 1, text=text, html=plain_html(text), published_by=by)
    try:
        with transaction.atomic():
            page.save()
    except IntegrityError as error:  # the number was taken since it was read
        raise _changed(page_text(name).number) from error
    audit.record(action="page.published", subject=page.get_name_display(), by=by)
    return page
