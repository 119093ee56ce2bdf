"""Import images: check them, encode them again, and store them in place of earlier ones with the same names."""

import hashlib
from collections.abc import Sequence

from django.core.files.base import ContentFile

from assay.errors import BadFile
from assay.html.images import file_name
from corpus.images.encoding import BadImage, SafeImage, safe_image
from corpus.images.reading import ImageFile, opened_images
from corpus.models import Image, Import
from jobs import services as jobs
from jobs.files import storage

BATCH = 20  # images that are stored in one transaction
UNFIT_NAME = "no URL can end in its name"


def import_images(*, progress: jobs.Progress, file: Import, done: int, total: int) -> None:
    """Import the images of a folder, an archive or a file. `Import.position` is the number of those that are done.

    Raises:
        BadFile: The folder or archive cannot be opened, has changed since the import was requested, or has no usable
            image.
    """
    with opened_images(file.location, file.name) as images:
        file.check_size(sum(image.size for image in images))
        for start in range(file.position, len(images), BATCH):
            part = images[start : start + BATCH]
            _import_part(progress, file, part)
            n_bytes = done + sum(image.size for image in images[: start + len(part)])
            progress.update(
                n_bytes, total, f"bytes read; {file.name}: {file.position:,} of {len(images):,} images"
            )
    if file.skipped and not file.counts:
        reason, (name, *_) = min(file.skipped_lines.items(), key=lambda item: str(item[1]))
        n = sum(file.skipped.values())
        raise BadFile(f"{file.name}: none of its {n:,} images can be imported. {name} is {reason}.")
    with progress.storing():
        file.is_complete = True
        file.save(update_fields=["is_complete"])


def _import_part(progress: jobs.Progress, file: Import, images: Sequence[ImageFile]) -> None:
    safe: dict[str, SafeImage] = {}
    skipped: dict[str, list[str]] = {}
    for image in images:
        try:
            name = file_name(image.name)
            if not name:
                raise BadImage(UNFIT_NAME)
            safe[name] = safe_image(image.read())
        except BadImage as error:
            skipped.setdefault(str(error), []).append(image.name)
    earlier = Image.objects.filter(collection=file.collection_id, name__in=safe)
    known = dict(earlier.values_list("name", "sha256"))
    rows = [
        Image(
            collection_id=file.collection_id,
            name=name,
            sha256=hashlib.sha256(image.content).hexdigest(),
            content_type=image.content_type,
            width=image.width,
            height=image.height,
            n_bytes=len(image.content),
        )
        for name, image in safe.items()
    ]
    changed = [row for row in rows if known.get(row.name) != row.sha256]
    with storage.storing() as store:
        for row in changed:
            row.file.name = store("images", ContentFile(safe[row.name].content))
        with progress.storing(is_part=True):
            replaced = Image.objects.filter(
                collection=file.collection_id, name__in=[row.name for row in changed]
            )
            storage.discard(list(replaced.values_list("file", flat=True)))
            Image.objects.bulk_create(
                changed,
                update_conflicts=True,
                unique_fields=["collection", "name"],
                update_fields=["file", "sha256", "content_type", "width", "height", "n_bytes"],
            )
            storage.claim(*(str(row.file.name) for row in changed))
            file.add(
                counts={"images": len(safe)},
                skipped={reason: len(names) for reason, names in skipped.items()},
                first=skipped,
                position=file.position + len(images),
            )
