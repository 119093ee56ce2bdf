"""The images of a collection: those that posts show, and the file of one of them."""

from collections.abc import Iterable, Sequence

from django.urls import reverse

from assay.html.images import ShownImage, file_names, references
from corpus.models import Collection, Image

MAX_SHOWN = 500  # different images on a page; the placeholders of further ones stay


def shown_images(texts: Iterable[str], collections: Sequence[Collection]) -> dict[str, ShownImage]:
    """The images that stored HTML refers to, by reference, each from the first collection that has it.

    No query without placeholders, otherwise one per collection.
    """
    wanted = sorted(references(texts))[:MAX_SHOWN]
    shown: dict[str, ShownImage] = {}
    for collection in collections:
        missing = [reference for reference in wanted if reference not in shown]
        shown |= _shown(collection, missing) if missing else {}
    return shown


def _shown(collection: Collection, wanted: Sequence[str]) -> dict[str, ShownImage]:
    names = {name for reference in wanted for name in file_names(reference)}
    rows = Image.objects.filter(collection=collection, name__in=names)
    images = {
        name: ShownImage(reverse("corpus:image", args=[collection.slug, sha256]), width, height)
        for name, sha256, width, height in rows.values_list("name", "sha256", "width", "height")
    }
    matches = ((each, next((name for name in file_names(each) if name in images), None)) for each in wanted)
    return {reference: images[name] for reference, name in matches if name is not None}


def image_of(collection: Collection, sha256: str) -> Image | None:
    """The image of a collection with some content."""
    return Image.objects.filter(collection=collection, sha256=sha256).first()
