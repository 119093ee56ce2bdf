"""Templates of pages are read without the space that only their readers need."""

from pathlib import Path

import pytest
from django.template import Context, Engine

PAGE = """\
<ul>
  {% for name in names %}
  {% if name %}
  <li>{{ name }}
    <b>bold</b></li>
  {% endif %}
  {% endfor %}

</ul>
"""


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("page.html", PAGE, "<ul>\n<li>a\n<b>bold</b></li>\n<li>c\n<b>bold</b></li>\n</ul>\n"),
        ("words.html", "a\n  {{ names.0 }}\n{% if names %}\nb\n{% endif %}\nc", "a\na\nb\nc"),
        ("inline.html", "{% if names %}a{% endif %}\n{{ names.2 }}", "a\nc"),
        (
            "comment.html",
            "{% comment %}A\n<pre>{% endcomment %}\na\n{% comment %}b{% endcomment %}\nc",
            "a\nc",
        ),
        ("value.html", "a\n{% firstof names.0 as name %}\n{% firstof 'no' %}\nb", "a\nno\nb"),
        ("text.html", "<pre>\n  x\n\n  y</pre>\n\n  <b>z</b>", "<pre>\n  x\n\n  y</pre>\n<b>z</b>"),
        (
            "field.html",
            "<p>\n  <textarea\n  >\n\n  x\n</textarea>",
            "<p>\n<textarea\n  >\n\n  x\n</textarea>",
        ),
        ("mail.txt", "x\n\n  y", "x\n\n  y"),
    ],
)
def test_space_is_left_out_but_not_between_words(tmp_path: Path, name: str, text: str, expected: str) -> None:
    (tmp_path / name).write_text(text)
    engine = Engine(dirs=[tmp_path], loaders=["config.templates.Loader"])

    assert engine.get_template(name).render(Context({"names": ["a", "", "c"]})) == expected
