"""References of images in stored HTML, and the elements that show them."""

import pytest

from assay.html import images, sanitize
from assay.html.images import ShownImage


@pytest.mark.parametrize(
    ("url", "reference"),
    [
        ("https://i.stack.imgur.com/vTmU2.gif", "i.stack.imgur.com/vTmU2.gif"),
        ("//www.example.org/a%20b/./c.png?w=1#x", "example.org/a b/c.png"),
        ("pictures/é.jpg", "pictures/é.jpg"),
        ("https://example.org/../etc/passwd", ""),
        ("data:image/png;base64,AAAA", ""),
        ('https://example.org/"><script>.png', ""),
        ("https://example.org/%22%3E.png", ""),
        ("https://example.org/$x$.png", ""),
        ("https://example.org/" + "a" * 400, ""),
        ("", ""),
    ],
)
def test_reference_names_a_file_or_nothing(url: str, reference: str) -> None:
    assert images.reference(url) == reference


@pytest.mark.parametrize(
    ("alt", "text"),
    [
        ("a graph", "a graph"),
        ('the "ring" &lt; all', "the &quot;ring&quot; &lt; all"),
        ("of $x<y$, [see] (left)", "of $x&lt;y$, [see] (left)"),
        ("enter image description here", "Image"),
        ("", "Image"),
    ],
)
def test_image_has_the_words_of_its_post(alt: str, text: str) -> None:
    stored = sanitize.clean_body(f"<p>Look: <img src='https://e.org/1.png' alt='{alt}'>!</p>")
    [reference] = images.references([stored])

    shown = images.show(stored, {reference: ShownImage("/images/1/", 3, 2)})

    assert f'<img class="post-image" src="/images/1/" width="3" height="2" alt="{text}" ' in shown
    assert "image-placeholder" not in shown
    for others in ({}, {"e.org/2.png": ShownImage("/images/2/", 1, 1)}):
        assert "e.org/1.png" not in images.show(stored, others)
        assert '<span class="image-placeholder">[Image' in images.show(stored, others)


def test_most_exact_file_comes_first() -> None:
    assert images.file_names("e.org/a/1.png") == ["e.org/a/1.png", "a/1.png", "1.png"]
