"""The demo's content: what is promised of it, and that nothing in it leads nowhere."""

import json
import re
import shutil
import subprocess
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from lxml import etree

from assay.html import links, sanitize
from assay.protocols.loader import parse_protocol, shipped_text
from demo import content, make_runs
from server.paths import ROOT

KATEX = ROOT / "node_modules/katex/dist/katex.js"
ONLY_MATHJAX = r"\begin{multline}"
SET_FORMULAS = r"""
const katex = require(process.argv[1]);
const failed = JSON.parse(require("fs").readFileSync(0, "utf8")).filter(([latex, displayMode]) => {
  try { katex.renderToString(latex, { displayMode, trust: false }); return false; } catch { return true; }
});
console.log(JSON.stringify(failed));
"""


@pytest.fixture(scope="module")
def collection() -> list[content.Post]:
    return content.collection()


@pytest.fixture(scope="module")
def everything(collection: list[content.Post]) -> list[content.Post]:
    return [*collection, *(post for year in make_runs.YEARS for post in content.topic_threads(year))]


def _questions(posts: list[content.Post]) -> list[content.Post]:
    return [post for post in posts if post.parent is None]


def _stored(post: content.Post) -> list[str]:
    return [
        sanitize.clean_body(content.html_of(post.body)),
        *(sanitize.clean_comment(c.text) for c in post.comments),
    ]


def test_content_has_the_documented_size(collection: list[content.Post]) -> None:
    assert len(collection) >= 80
    assert len(_questions(collection)) >= 30
    sizes = [sum(bool(post.topic) for post in content.topic_threads(year)) for year in make_runs.YEARS]
    assert sizes == [25, 7]
    systems = [make_runs.systems_of(year) for year in make_runs.YEARS]
    assert [len(each) for each in systems] == [9, 4]
    assert [len({system.team for system in each}) for each in systems] == [5, 2]


def test_ids_are_unique_and_all_references_exist(everything: list[content.Post]) -> None:
    ids = {post.id for post in everything}
    people = {number for number, _, _ in content.users()}

    assert len(ids) == len(everything)
    assert {post.parent for post in everything if post.parent} <= ids
    assert {link.to for post in everything for link in post.links} <= ids
    assert {post.user for post in everything if post.user is not None} <= people
    assert {comment.user for post in everything for comment in post.comments} <= people
    assert [post.id for post in everything if post.user is None and not post.name] == []


def test_an_accepted_answer_belongs_to_its_question(everything: list[content.Post]) -> None:
    parents = {post.id: post.parent for post in everything}

    wrong = [post.id for post in everything if post.accepted and parents[post.accepted] != post.id]

    assert wrong == []


def test_an_answer_is_younger_than_its_question(everything: list[content.Post]) -> None:
    dates = {post.id: post.date for post in everything}

    assert [post.id for post in everything if post.parent and post.date <= dates[post.parent]] == []


def test_topics_are_asked_after_the_collection_ended(collection: list[content.Post]) -> None:
    last = max(post.date for post in collection)

    assert all(post.date > last for year in make_runs.YEARS for post in content.topic_threads(year))


def test_every_internal_link_leads_to_a_post_of_the_collection(collection: list[content.Post]) -> None:
    ids = {str(post.id) for post in collection}

    linked = [links.posts(_stored(post), [content.HOST]) for post in collection]

    assert set().union(*linked) <= ids
    assert sum(map(bool, linked)) >= 15


def test_internal_links_are_written_in_many_ways(collection: list[content.Post]) -> None:
    text = " ".join(post.body + " ".join(comment.text for comment in post.comments) for post in collection)

    forms = (
        r'href="/questions/\d+/[\w-]+"',
        r'href="/questions/\d+"',
        r'href="/q/\d+"',
        r'href="/a/\d+"',
        r'href="https://math\.example\.org/questions/\d+/[\w-]+"',
        r'href="https://math\.example\.org/questions/\d+/[\w-]+/(\d+)#\1"',
        r'href="https://math\.example\.org/a/\d+/\d+"',
        r'href="http://math\.example\.org/q/\d+"',
        r'href="//math\.example\.org/questions/\d+/',
        r" https://math\.example\.org/q/\d+ ",
    )
    assert [form for form in forms if not re.search(form, text)] == []


def test_hostile_posts_stay_harmless(collection: list[content.Post]) -> None:
    raw = " ".join(content.html_of(post.body) for post in collection)
    stored = " ".join(html for post in collection for html in _stored(post))
    outside = re.sub(r'<span class="math-container"[^>]*>[^<]*</span>', "", stored)

    assert "<script>" in raw
    assert "onerror=" in raw
    for bad in (
        "<script",
        "<iframe",
        "<form",
        "<style",
        "<svg",
        "<img",
        "javascript:",
        "onclick",
        "onerror",
        "href=",
    ):
        assert bad not in outside


def test_every_topic_except_one_has_enough_relevant_answers() -> None:
    relevant = Counter(topic for (topic, _), grade in content.truth().items() if grade >= 2)
    topics = {post.topic for year in make_runs.YEARS for post in content.topic_threads(year) if post.topic}

    assert set(relevant) == topics
    assert [topic for topic in topics if relevant[topic] < 2] == ["A.106"]


def test_graded_answers_exist(collection: list[content.Post]) -> None:
    answers = {str(post.id) for post in collection if post.parent}

    assert {docno for _, docno in content.truth()} <= answers


def test_labels_are_those_of_the_protocol() -> None:
    allowed = parse_protocol(shipped_text("arqmath-2021-task1"), name="arqmath-2021-task1").topics.labels
    topics = [post for year in make_runs.YEARS for post in content.topic_threads(year) if post.topic]

    assert all(set(post.labels) == set(allowed) for post in topics)
    assert all(value in allowed[key] for post in topics for key, value in post.labels.items())


def test_run_files_are_what_the_script_makes() -> None:
    for system in make_runs.systems_of(make_runs.YEAR_OF_FILES):
        made = make_runs.text_of(system, make_runs.YEAR_OF_FILES)
        assert make_runs.path_of(system).read_text(encoding="utf-8") == made, system.tag


def test_the_same_threads_give_the_same_dump(tmp_path: Path, collection: list[content.Post]) -> None:
    first = content.write_dump(collection, tmp_path / "first")
    second = content.write_dump(content.collection(), tmp_path / "second")

    assert [path.name for path in first] == [
        "Users.xml",
        "Posts.xml",
        "Comments.xml",
        "PostLinks.xml",
        "Votes.xml",
        "Tags.xml",
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_votes_of_a_post_add_up_to_its_score(tmp_path: Path, collection: list[content.Post]) -> None:
    content.write_dump(collection, tmp_path)
    votes = etree.parse(tmp_path / "Votes.xml").getroot()

    weights = {content.UP: 1, content.DOWN: -1, content.ACCEPTED: 0}
    totals: Counter[int] = Counter()
    for row in votes:
        totals[int(row.attrib["PostId"])] += weights[row.attrib["VoteTypeId"]]

    assert {post.id: totals[post.id] for post in collection} == {post.id: post.score for post in collection}


def test_formulas_of_a_topic_file_are_numbered_through() -> None:
    file = content.topic_file(content.topic_threads(2026))

    text = unescape(file.decode())
    numbers = [int(number) for number in re.findall(r'<span class="math-container" id="q_(\d+)">', text)]

    assert len(numbers) >= 15
    assert numbers == list(range(1, len(numbers) + 1))


def test_katex_renders_every_formula_except_the_one_for_mathjax(everything: list[content.Post]) -> None:
    node = shutil.which("node")
    if node is None or not KATEX.exists():
        pytest.skip("needs node and node_modules/katex, which `make setup` installs")
    html = " ".join(" ".join([*_stored(post), sanitize.clean_title(post.title)]) for post in everything)
    marked = re.findall(r'<span class="math-container"[^>]*data-display="(\w+)">([^<]*)</span>', html)
    formulas = json.dumps([[unescape(latex), display == "block"] for display, latex in marked])

    done = subprocess.run(
        [node, "-e", SET_FORMULAS, str(KATEX)], input=formulas, capture_output=True, text=True, check=True
    )

    assert len(marked) > 900
    failed = json.loads(done.stdout)
    assert len(failed) == 1
    assert failed[0][0].startswith(ONLY_MATHJAX)
