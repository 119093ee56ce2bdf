"""Turns a file that is said to be an image into an image that is safe to serve.

The file is decoded and encoded again, so that nothing of it is served but its pixels: no metadata, no appended data, no
script. Its content decides what it is, not its name. Limits are checked before a pixel is decoded. An
animation becomes its first picture.
"""

import struct
import warnings
import zlib
from io import BytesIO
from typing import NamedTuple

from PIL import Image as Pillow
from PIL import ImageOps, UnidentifiedImageError

from corpus.models import Image

MAX_BYTES = 20 << 20
MAX_PIXELS = 40_000_000
TOO_MANY_PIXELS = f"more than {MAX_PIXELS // 1_000_000} million pixels"
MAX_SIDE = 2_000  # pixels of a served image; larger ones are scaled down
QUALITY = 88
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")
ACCEPTED = "PNG, JPEG, GIF or WebP"
# What Pillow raises for damaged files.
DAMAGES = (
    *(OSError, ValueError, SyntaxError, EOFError, LookupError, TypeError, ArithmeticError),
    *(struct.error, zlib.error),
)
BOMBS = (Pillow.DecompressionBombError, Pillow.DecompressionBombWarning)


class BadImage(Exception):
    """A file that is not served; the text says why."""


class SafeImage(NamedTuple):
    content: bytes
    content_type: str
    width: int
    height: int


def safe_image(data: bytes) -> SafeImage:
    """The image of a file, encoded again.

    Raises:
        BadImage: It is too large, damaged, or not an image of an accepted format.
    """
    if len(data) > MAX_BYTES:
        raise BadImage(f"more than {MAX_BYTES >> 20} MB")
    head = data[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<") and b"<svg" in head.lower():
        raise BadImage(f"an SVG image, which can contain scripts; accepted: {ACCEPTED}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Pillow.DecompressionBombWarning)
            image = Pillow.open(BytesIO(data), formats=FORMATS)
            if image.width * image.height > MAX_PIXELS:
                raise BadImage(TOO_MANY_PIXELS)
            form = image.format if image.format in {"JPEG", "WEBP"} else "PNG"
            pixels = _pixels(image, has_alpha=form != "JPEG")
            pixels.thumbnail((MAX_SIDE, MAX_SIDE))
            out = BytesIO()
            pixels.save(out, form, **({} if form == "PNG" else {"quality": QUALITY}))
            return SafeImage(out.getvalue(), Image.ContentType[form].value, pixels.width, pixels.height)
    except UnidentifiedImageError:
        raise BadImage(f"not an image in {ACCEPTED}") from None
    except BOMBS:
        raise BadImage(TOO_MANY_PIXELS) from None
    except DAMAGES:
        raise BadImage("a damaged image") from None


def _pixels(image: Pillow.Image, *, has_alpha: bool) -> Pillow.Image:
    """The pixels alone, upright, in 8 bits per channel."""
    image.load()
    upright = ImageOps.exif_transpose(image)
    if upright.mode.startswith("I"):  # 16 bits of gray
        upright = upright.convert("I").point(lambda value: value * (1 / 256))
        return upright.convert("L")
    is_transparent = has_alpha and upright.has_transparency_data
    pixels = upright.convert("RGBA" if is_transparent else "L" if upright.mode in {"1", "L"} else "RGB")
    pixels.info = {}  # color profiles, texts and the like
    return pixels
