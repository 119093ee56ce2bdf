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
        missing = {reference: file_names(reference) for reference in wanted if reference not in shown}
        if not missing:
            break
        named = {name for names in missing.values() for name in names}
        rows = Image.objects.filter(collection=collection, name__in=named)
        images = {
            name: ShownImage(reverse("corpus:image", args=[collection.slug, sha256]), width, height)
            for name, sha256, width, height in rows.values_list("name", "sha256", "width", "height")
        }
        for reference, names in missing.items():
            if name := next((name for name in names if name in images), None):
                shown[reference] = images[name]
    return shown


def image_of(collection: Collection, sha256: str) -> Image | None:
    return Image.objects.filter(collection=collection, sha256=sha256).first()
