"""Send a file of the downloads, for pages and API, and record who fetched it."""

from collections.abc import Iterable

from django.core.files.storage import default_storage
from django.http import HttpRequest, HttpResponseBase

from accounts.access import AnyUser
from accounts.models import User
from tracks.downloads import services
from tracks.downloads.selectors import Item
from tracks.models import Track
from web.downloads import Read, download_range, is_first_part


def send(request: HttpRequest, track: Track, item: Item, user: AnyUser) -> HttpResponseBase:
    """The file, or the part that the request asks for. A download that is resumed is recorded once."""
    if request.method == "GET" and is_first_part(request):
        services.note_fetch(track=track, user=user if isinstance(user, User) else None, item=item)
    return download_range(
        request, item.name, n_bytes=item.n_bytes or 0, sha256=item.sha256, read=_reader(item)
    )


def _reader(item: Item) -> Read:
    content = item.content

    def read(start: int, stop: int) -> Iterable[bytes]:
        if content is not None:
            return [content[start:stop]]
        pieces: Iterable[bytes] = default_storage.read_range(item.stored, start, stop)  # type: ignore[attr-defined]
        return pieces

    return read
