"""The components of templates/components/, and rules that hold for every template."""

import re

import pytest
from django.core.paginator import Paginator
from django.template import RequestContext, Template
from django.test import RequestFactory

from config.templatetags.site import whole_times
from server.assets import ICONS, PACKAGES, sprite
from tests.helpers.templates import templates


def rendered(source: str, query: str = "", **context: object) -> str:
    request = RequestFactory().get(f"/{query}")
    return Template("{% load components %}" + source).render(RequestContext(request, context))


def test_table_with_a_label_is_a_region_that_scrolls_by_keyboard() -> None:
    text = rendered('{% table name style="stacked" %}<tbody></tbody>{% endtable %}', name="Runs & teams")

    assert 'tabindex="0" role="region" aria-label="Runs &amp; teams"' in text
    assert '<table class="t stacked">' in text
    assert "<caption" not in text


def test_table_reads_its_caption_aloud_and_keeps_its_rows() -> None:
    source = '{% table caption="Runs" style="stacked" %}<tr><td>{{ name }}</td></tr>{% endtable %}'

    text = rendered(source, name="<b>")

    assert '<caption class="visually-hidden">Runs</caption>' in text
    assert "<td>&lt;b&gt;</td>" in text
    assert "region" not in text


def test_title_of_a_page_is_its_heading_without_tags() -> None:
    template = Template('{% extends "base.html" %}{% block heading %}<bdi>{{ name }}</bdi>{% endblock %}')

    text = template.render(RequestContext(RequestFactory().get("/"), {"name": "Runs & <b>"}))

    assert "<title>Runs &amp; &lt;b&gt; · Assay</title>" in text
    assert "<h1><bdi>Runs &amp; &lt;b&gt;</bdi></h1>" in text


def test_empty_state_shows_what_it_encloses() -> None:
    text = rendered("{% empty_state %}<p>No runs yet.</p>{% endempty_state %}")

    assert '<div class="panel empty">' in text
    assert "<div><p>No runs yet.</p></div>" in text


def test_page_below_no_other_has_no_breadcrumb() -> None:
    source = "{% filter breadcrumb %}\n{% if track %}<li>{{ track }}</li>{% endif %}{% endfilter %}"

    assert "<li>arq</li></ol></nav>" in rendered(source, track="arq")
    assert rendered(source) == ""


def test_component_is_rendered_by_its_values() -> None:
    source = '{% component "key" key=key %}'

    texts = [rendered(source, key=key).rstrip("\n") for key in ("a", "<", "", "a")]

    hint = '<kbd class="key-hint" aria-hidden="true">{}</kbd>'
    assert texts == [hint.format("A"), hint.format("&lt;"), "", hint.format("A")]


def test_download_button_and_link_lead_to_the_file() -> None:
    button = rendered('{% download_button "TSV" "scoring:qrels_file" 7 %}')
    link = rendered('{% download_link "TSV" "scoring:qrels_file" 7 measure="P@5" %}')

    assert button == '<a class="btn btn-plain" href="/qrels/7/qrels.tsv" download>TSV</a>'
    assert link == '<a href="/qrels/7/qrels.tsv?measure=P%405" download>TSV</a>'


def test_table_with_ranked_columns_has_a_link_that_shows_all() -> None:
    text = rendered('{% table "Runs" columns="runs" %}<td class="c3"></td>{% endtable %}')

    assert 'id="runs"' in text
    assert '<a href="#runs">All columns</a>' in text


def test_menu_has_a_button_only_for_what_is_in_it() -> None:
    source = '{% menu "More" %}{% if edits %}<a href="edit/">Edit</a>{% endif %}{% endmenu %}'

    assert rendered(source, edits=False) == ""
    assert '<div><a href="edit/">Edit</a></div>' in rendered(source, edits=True)


def test_icon_is_drawn_for_eyes_only() -> None:
    text = rendered('{% icon "house" %}')

    assert text == '<svg class="i" aria-hidden="true"><use href="/static/vendor/icons.svg#house"/></svg>'


def test_icons_of_templates_are_in_the_sprite() -> None:
    """Without its name in `server.assets.ICONS`, an icon would be an empty square."""
    named = {name for path in templates() for name in re.findall(r'% icon "([^"]+)"', path.read_text())}

    assert named <= set(ICONS)
    assert all(
        f'<symbol id="{name}" viewBox=' in sprite(PACKAGES / "bootstrap-icons/icons") for name in ICONS
    )


@pytest.mark.parametrize(
    ("number", "has_previous", "has_next"), [(1, False, True), (2, True, True), (3, True, False)]
)
def test_pagination_leads_to_the_neighbors_and_keeps_the_query(
    number: int, *, has_previous: bool, has_next: bool
) -> None:
    rows = Paginator(range(5), 2).get_page(number)

    text = rendered('{% include "components/pagination.html" %}', "?sort=name", rows=rows)

    assert (f'href="?sort=name&amp;page={number - 1}" rel="prev"' in text) == has_previous
    assert (f'href="?sort=name&amp;page={number + 1}" rel="next"' in text) == has_next
    assert "of 5" in text


def test_pagination_of_one_page_shows_nothing() -> None:
    text = rendered('{% include "components/pagination.html" %}', rows=Paginator(range(2), 2).get_page(1))

    assert not text.strip()


def test_measure_tabs_mark_the_chosen_measure() -> None:
    measures = [("P@5", "precision"), ("nDCG@10", "gain")]

    text = rendered('{% include "components/measure_tabs.html" %}', measures=measures, charted="P@5")

    assert 'href="?measure=P%405"' in text
    assert text.count('aria-current="true"') == 1


COUNT = re.compile(r"\{\{ ?(?:[a-z_]+\.)*(?:n|n_[a-z_]+|judged|total|to_do) ?\}\}")
TAG = re.compile(r"<[a-zA-Z/!](?:[^<>{}]|\{\{.*?\}\}|\{%.*?%\})*>", re.DOTALL)
# A text to translate, with the values that it takes; the number that it counts is not one of them
SENTENCE = re.compile(r"\{% blocktranslate(.*?)(?: count .*?)? ?%\}.*?\{% endblocktranslate %\}", re.DOTALL)


def _values(sentence: re.Match[str]) -> str:
    return " ".join(f"{{{{ {value} }}}}" for value in re.findall(r"\w+=(\S+)", sentence[1]))


def test_numbers_that_people_read_are_grouped() -> None:
    """A count in the text of a page has a filter, such as `intcomma` or `counted`; in attributes it is a number."""
    pages = [path for path in templates() if "admin" not in path.parts]

    raw = {str(path): COUNT.findall(TAG.sub("", SENTENCE.sub(_values, path.read_text()))) for path in pages}

    assert {path: counts for path, counts in raw.items() if counts} == {}


def test_days_and_times_in_a_text_do_not_break() -> None:
    assert whole_times("<b> until 2027-03-05 12:00 AoE (2027-03-06 00:00 UTC)") == (
        '&lt;b&gt; until <span class="text-nowrap">2027-03-05 12:00 AoE</span> '
        '(<span class="text-nowrap">2027-03-06 00:00 UTC</span>)'
    )
