"""A dump is cut by dates as the rules say, also a small real dump, whose rows independent code counts."""

import hashlib
import json
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.errors import AssayError, InputError
from assay_extensions.building import marking
from assay_extensions.building.build import build
from assay_extensions.building.settings import NotBuilt, Period, Settings, periods
from tests.helpers.dumps import answer, dump, plain_rows, question, row, write

UNTIL_2018 = Settings(collection=Period("", "2019-01-01"), topics=Period("2019-01-01"))
END = "2019-01-01"


@pytest.fixture(scope="session")
def conlang(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, Any]]:
    """A real dump, the folder of its build until 2018, and the manifest."""
    source = data / "stackexchange" / "conlang_meta"
    folder = tmp_path_factory.mktemp("conlang") / "built"
    return source, folder, build(source, folder, UNTIL_2018, processes=0)


def kept_by_hand(source: Path) -> dict[str, list[dict[str, str]]]:
    """The rows that the rules keep, from the whole files at once."""
    rows = {path.stem: plain_rows(path) for path in source.iterdir()}
    early = [post for post in rows["Posts"] if post["PostTypeId"] in "12" and post["CreationDate"] < END]
    questions = {post["Id"] for post in early if post["PostTypeId"] == "1"}
    posts = [post for post in early if post["PostTypeId"] == "1" or post["ParentId"] in questions]
    ids = {post["Id"] for post in posts}
    of_posts = {
        name: [each for each in rows[name] if each["PostId"] in ids and each["CreationDate"] < END]
        for name in ("Comments", "Votes", "PostLinks")
    }
    links = [link for link in of_posts["PostLinks"] if link["RelatedPostId"] in ids]
    people = {post.get("OwnerUserId") for post in posts}
    people |= {each.get("UserId") for name in ("Comments", "Votes") for each in of_posts[name]}
    tags = Counter(tag for post in posts for tag in re.findall("<(.*?)>", post.get("Tags", "")))
    return {
        "Posts": posts,
        **of_posts,
        "PostLinks": links,
        "Users": [user for user in rows["Users"] if user["Id"] in people],
        "Badges": [badge for badge in rows["Badges"] if badge["UserId"] in people and badge["Date"] < END],
        "Tags": [tag | {"Count": str(tags[tag["TagName"]])} for tag in rows["Tags"] if tags[tag["TagName"]]],
    }


def test_real_dump_keeps_the_rows_that_the_rules_keep(conlang: tuple[Path, Path, dict[str, Any]]) -> None:
    source, folder, manifest = conlang
    by_hand = kept_by_hand(source)

    for name, expected in by_hand.items():
        rows = plain_rows(folder / "collection" / f"{name}.xml")
        assert [each["Id"] for each in rows] == [each["Id"] for each in expected], name
        if name not in {"Posts", "Comments"}:
            for kept, original in zip(rows, expected, strict=True):
                assert kept.items() <= original.items(), name
    kinds = Counter(post["PostTypeId"] for post in by_hand["Posts"])
    after = {name.lower(): len(rows) for name, rows in by_hand.items() if name not in {"Posts", "PostLinks"}}
    after |= {"questions": kinds["1"], "answers": kinds["2"]}
    after |= Counter(
        {"1": "links: related", "3": "links: duplicate"}[link["LinkTypeId"]] for link in by_hand["PostLinks"]
    )
    assert manifest["after"] == after
    assert manifest["before"]["other posts: a tag wiki"] == 4
    assert manifest["before"]["users"] == 272


def test_real_posts_have_arqmaths_attributes_and_are_counted_again(
    conlang: tuple[Path, Path, dict[str, Any]],
) -> None:
    source, folder, _ = conlang
    by_hand = kept_by_hand(source)
    ids = {post["Id"] for post in by_hand["Posts"]}
    answers = Counter(post.get("ParentId") for post in by_hand["Posts"])
    comments = Counter(comment["PostId"] for comment in by_hand["Comments"])
    text = (folder / "collection" / "Posts.xml").read_text()

    rows = plain_rows(folder / "collection" / "Posts.xml")

    for kept, original in zip(rows, by_hand["Posts"], strict=True):
        assert kept["Body"].split() == original["Body"].split()
        assert kept["CommentCount"] == str(comments[kept["Id"]])
        assert kept.get("AcceptedAnswerId") in ids | {None}
        assert kept.get("OwnerUserId") == original.get("OwnerUserId")
        if kept["PostTypeId"] == "1":
            assert kept["AnswerCount"] == str(answers[kept["Id"]])
            assert (kept["Title"], kept["Tags"]) == (original["Title"], original["Tags"])
    assert len(text.splitlines()) == len(rows) + 3
    assert not {"LastEditDate", "LastActivityDate", "ContentLicense", "FavoriteCount"} & {
        key for each in rows for key in each
    }


def test_two_builds_of_a_dump_have_the_same_bytes(
    conlang: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    source, folder, manifest = conlang
    packed = tmp_path / "dump.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(source.iterdir(), reverse=True):
            archive.write(path, f"conlang/{path.name}")

    again = build(packed, tmp_path / "built", UNTIL_2018, processes=2)

    assert again["files"] == manifest["files"]
    for name, about in manifest["files"].items():
        content = (tmp_path / "built" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == about["sha256"], name
        assert content == (folder / name).read_bytes(), name


def test_build_that_was_killed_continues_with_the_same_bytes(
    conlang: tuple[Path, Path, dict[str, Any]], tmp_path: Path
) -> None:
    source, _, manifest = conlang
    steps: list[str] = []

    class Killed(Exception):
        pass

    def kill_at_the_next_step(step: str, _done: int, _total: int) -> None:
        if step not in steps:
            steps.append(step)
            raise Killed

    while True:
        n_steps = len(steps)
        try:
            again = build(source, tmp_path / "built", UNTIL_2018, kill_at_the_next_step, processes=0)
            break
        except Killed:
            assert len(steps) == n_steps + 1

    assert again == manifest
    assert len(steps) > 15


def small_dump(folder: Path) -> Path:
    """Questions of 2017 to 2020 with answers before and after the end of 2018."""
    folder.mkdir()
    posts = [
        question(1, CreationDate="2017-05-01T10:00:00", AcceptedAnswerId=3, CommentCount=9, OwnerUserId=7,
                 Title="Is $a<b$ & $b<c$?", Body="<p>Let $x^2$ cost \\$5.</p>\n<pre>a\nb $no$</pre>", Tags="|a|b|"),
        answer(2, 1, CreationDate="2018-12-31T23:59:59.999", Body="<p>Yes, $$y$$.</p>", OwnerDisplayName="user23"),
        answer(3, 1, CreationDate="2019-01-01T00:00:00.000"),
        question(4, CreationDate="2016-12-31T10:00:00"),
        answer(5, 4, CreationDate="2017-06-01T10:00:00"),
        question(6, CreationDate="2019-03-01T10:00:00", Body="<p>Why $z$ in $5$?</p>", OwnerUserId=-1, Title="$t$"),
        answer(7, 6, CreationDate="2020-03-01T10:00:00"),
        question(8, CreationDate="2020-03-01T10:00:00", Body="<p>Too late $z$</p>"),
        question(9, CreationDate="2019-04-01T10:00:00", Body="<p>No formula</p>"),
        question(10, CreationDate="2018-01-01T00:00:00"),
        row(Id=11, PostTypeId=5, CreationDate="2018-01-01T00:00:00", Body="wiki"),
    ]  # fmt: skip
    comments = [
        row(
            Id=1,
            PostId=1,
            Score=2,
            Text='`$code$` but $m<n$ & "this"',
            CreationDate="2018-02-01T00:00:00",
            UserId=7,
        ),
        row(Id=2, PostId=1, Score=0, Text="late", CreationDate="2019-02-01T00:00:00"),
        row(Id=3, PostId=3, Score=0, Text="on a cut answer", CreationDate="2018-02-01T00:00:00"),
        row(Id=4, PostId=2, Score=0, Text="$w$", CreationDate="2018-12-31T23:59:59", UserDisplayName="gone"),
    ]
    links = [
        row(Id=1, PostId=1, RelatedPostId=10, LinkTypeId=1, CreationDate="2018-01-02T00:00:00"),
        row(Id=2, PostId=10, RelatedPostId=1, LinkTypeId=3, CreationDate="2019-05-02T00:00:00"),
        row(Id=3, PostId=6, RelatedPostId=1, LinkTypeId=3, CreationDate="2019-05-02T00:00:00"),
        row(Id=4, PostId=10, RelatedPostId=6, LinkTypeId=1, CreationDate="2019-05-02T00:00:00"),
        row(Id=5, PostId=6, RelatedPostId=1, LinkTypeId=1, CreationDate="2019-05-02T00:00:00"),
        row(Id=6, PostId=8, RelatedPostId=1, LinkTypeId=1, CreationDate="2020-05-02T00:00:00"),
    ]
    users = [row(Id=-1, DisplayName="Community", Reputation=1), row(Id=7, DisplayName="Ada", Reputation=55)]
    write(folder, "Posts.xml", dump("posts", *posts))
    write(folder, "Comments.xml", dump("comments", *comments))
    write(folder, "PostLinks.xml", dump("postlinks", *links))
    write(folder, "Users.xml", dump("users", *users))
    write(folder, "PostHistory.xml", dump("posthistory"))
    write(folder, "readme.txt", "About the dump")
    return folder


SETTINGS = Settings(collection=Period("2017-01-01", END), topics=Period(END, "2020-01-01"))


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_are_cut_by_their_own_date_and_with_their_post(tmp_path: Path) -> None:
    manifest = build(small_dump(tmp_path / "dump"), tmp_path / "built", SETTINGS, processes=0)

    posts = plain_rows(tmp_path / "built/collection/Posts.xml")
    assert [post["Id"] for post in posts] == ["1", "2", "10"]
    assert posts[0] | {"Title": "", "Body": ""} == {
        "Id": "1", "PostTypeId": "1", "CreationDate": "2017-05-01T10:00:00", "Score": "1", "CommentCount": "1",
        "OwnerUserId": "7", "Title": "", "Body": "", "AnswerCount": "1", "Tags": "<a><b>",
    }  # fmt: skip
    assert (posts[1]["ParentId"], posts[1]["OwnerDisplayName"]) == ("1", "user23")
    assert [each["Id"] for each in plain_rows(tmp_path / "built/collection/Comments.xml")] == ["1", "4"]
    assert [each["Id"] for each in plain_rows(tmp_path / "built/collection/PostLinks.xml")] == ["1"]
    assert [each["Id"] for each in plain_rows(tmp_path / "built/collection/Users.xml")] == ["7"]
    assert manifest["ignored"] == ["PostHistory.xml", "readme.txt"]
    assert manifest["cut"]["answers without their question"] == 1
    assert manifest["cut"]["questions outside of the period of the collection"] == 4


def test_formulas_are_numbered_by_thread_and_found_in_the_index(tmp_path: Path) -> None:
    build(small_dump(tmp_path / "dump"), tmp_path / "built", SETTINGS, processes=0)

    span = '<span class="math-container" id="{}">{}</span>'.format
    posts = plain_rows(tmp_path / "built/collection/Posts.xml")
    comments = plain_rows(tmp_path / "built/collection/Comments.xml")
    index = [
        line.split("\t")
        for n in range(1, 7)
        for line in (tmp_path / f"built/formulas/latex/{n}.tsv").read_text().splitlines()[1:]
    ]
    assert posts[0]["Title"] == f"Is {span(1, 'a&lt;b')} & {span(2, 'b&lt;c')}?"
    assert posts[0]["Body"] == f"<p>Let {span(3, 'x^2')} cost \\$5.</p> <pre>a\nb $no$</pre>"
    assert comments[0]["Text"] == f'`$code$` but {span(4, "m&lt;n")} & "this"'
    assert posts[1]["Body"] == f"<p>Yes, {span(5, 'y')}.</p>"
    assert comments[1]["Text"] == span(6, "w")
    assert [(each[0], each[1], each[3], each[4], each[-1]) for each in index] == [
        ("1", "1", "title", "", "a<b"), ("2", "1", "title", "", "b<c"), ("3", "1", "question", "", "x^2"),
        ("4", "1", "comment", "1", "m<n"), ("5", "2", "answer", "", "y"), ("6", "2", "comment", "4", "w"),
    ]  # fmt: skip
    assert {each[2] for each in index} == {"1"}
    assert {tuple(each[5:8]) for each in index} == {("", "", "")}


@pytest.mark.parametrize(("n", "sizes"), [(302, [3] * 100 + [2]), (250, [3] * 83 + [1]), (99, [1] * 99)])
def test_index_has_at_most_101_files_of_one_percent_each(tmp_path: Path, n: int, sizes: list[int]) -> None:
    write(tmp_path, "Posts.xml", dump("posts", question(1, Body="<p>$x$</p>" * n)))

    build(tmp_path / "Posts.xml", tmp_path / "built", Settings(), processes=0)

    files = sorted((tmp_path / "built/formulas/latex").iterdir(), key=lambda path: int(path.stem))
    assert [path.stem for path in files] == [str(n) for n in range(1, len(sizes) + 1)]
    assert [len(path.read_text().splitlines()) - 1 for path in files] == sizes


def test_candidates_have_marked_formulas_and_their_links(tmp_path: Path) -> None:
    build(small_dump(tmp_path / "dump"), tmp_path / "built", SETTINGS, processes=0)

    (candidate,) = json_lines(tmp_path / "built/private/candidates.jsonl")
    span = '<span class="math-container">{}</span>'.format
    assert candidate == {
        "id": "6", "date": "2019-03-01T10:00:00", "title": span("$t$"),
        "body": f"<p>Why {span('$z$')} in {span('$5$')}?</p>", "tags": ["a", "b"], "score": 1, "answers": 1,
        "formulas": 3, "duplicates": ["1"], "related": ["10"], "reputation": 1, "length": 4,
    }  # fmt: skip
    assert (tmp_path / "built/private/links.tsv").read_text().splitlines() == [
        "question_id\tlinked_id\tkind", "6\t1\tduplicate", "6\t1\trelated", "6\t10\trelated",
    ]  # fmt: skip


def test_without_formulas_a_dollar_is_a_dollar(tmp_path: Path) -> None:
    settings = Settings(collection=SETTINGS.collection, topics=SETTINGS.topics, has_formulas=False)

    manifest = build(small_dump(tmp_path / "dump"), tmp_path / "built", settings, processes=0)

    assert plain_rows(tmp_path / "built/collection/Posts.xml")[0]["Title"] == "Is $a<b$ & $b<c$?"
    assert not (tmp_path / "built/formulas").exists()
    assert manifest["formulas"]["all"] == 0
    assert [each["id"] for each in json_lines(tmp_path / "built/private/candidates.jsonl")] == ["6", "9"]


def test_formulas_of_arqmaths_own_posts_are_the_same_after_a_build(data: Path, tmp_path: Path) -> None:
    source = data / "stackexchange" / "indexTest.xml"

    build(source, tmp_path / "built", Settings(), processes=0)

    spans = re.compile(r'<span class="math-container" id="(\d+)">(.*?)</span>')
    before = [latex for post in plain_rows(source) for _, latex in spans.findall(post["Body"])]
    after = [
        pair
        for post in plain_rows(tmp_path / "built/collection/Posts.xml")
        for pair in spans.findall(post["Body"])
    ]
    assert sorted(latex for _, latex in after) == sorted(before)
    assert sorted(int(number) for number, _ in after) == list(range(1, len(before) + 1))


def test_formula_that_a_reader_does_not_see_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "Posts.xml", dump("posts", question(1, Body="<p>$x$ and $y$</p>", Title="t")))
    real = marking.cut
    monkeypatch.setattr(marking, "cut", lambda html: (html, real(html)[1][1:]))

    manifest = build(tmp_path / "Posts.xml", tmp_path / "built", Settings(), processes=0)

    assert (tmp_path / "built/formulas/lost.tsv").read_text().splitlines()[1:] == ["1\t1\tquestion\t\tx"]
    assert "\td\tx" in (tmp_path / "built/formulas/latex/1.tsv").read_text()
    assert manifest["formulas"]["lost"] == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (dump("posts", question(1), question(2))[:-30], "line 4"),
        (dump("posts", question(1)).replace("</posts>", ""), "ends without </posts>"),
        (dump("comments"), "no posts"),
        (dump("posts"), "it has no dates"),
        (dump("posts", question(1, CreationDate="2020-01-01T00:00:00")), "from 2020-01-01 to 2020-01-01"),
        ("Hello", "neither XML nor"),
    ],
)
def test_unusable_source_is_refused_with_the_reason(tmp_path: Path, text: str, reason: str) -> None:
    write(tmp_path, "Posts.xml", text)

    with pytest.raises(AssayError, match=reason):
        build(tmp_path / "Posts.xml", tmp_path / "built", UNTIL_2018, processes=0)


def test_two_files_of_the_same_kind_are_refused(tmp_path: Path) -> None:
    for name in ("Posts.xml", "Posts.V1.3.xml"):
        write(tmp_path, name, dump("posts", question(1)))

    with pytest.raises(NotBuilt, match=r"Posts\.V1\.3\.xml and Posts\.xml both contain posts"):
        build(tmp_path, tmp_path / "built", Settings(), processes=0)


def test_folder_of_another_build_is_refused(tmp_path: Path) -> None:
    source = small_dump(tmp_path / "dump")
    build(source, tmp_path / "built", SETTINGS, processes=0)

    with pytest.raises(NotBuilt, match=r"other settings \(collection, topics\)"):
        build(source, tmp_path / "built", Settings(), processes=0)
    write(source, "Posts.xml", dump("posts", question(1)))
    with pytest.raises(NotBuilt, match=r"other settings \(source\)"):
        build(source, tmp_path / "built", SETTINGS, processes=0)
    with pytest.raises(NotBuilt, match="not empty"):
        build(source, tmp_path / "dump", SETTINGS, processes=0)


def test_unusable_rows_are_counted_by_reason(tmp_path: Path) -> None:
    posts = [
        question(1),
        question(1),
        question("x"),
        question(2, CreationDate=""),
        answer(3, ""),
        question(4, Score="many"),
    ]
    write(tmp_path, "Posts.xml", dump("posts", *posts))

    manifest = build(tmp_path / "Posts.xml", tmp_path / "built", Settings(), processes=0)

    assert manifest["after"]["questions"] == 1
    assert manifest["skipped"] == {
        "CreationDate is missing": 1,
        "Id is not a whole number": 1,
        "ParentId is missing": 1,
        "Score is not a whole number": 1,
        "the same id again in the file; the first row counts": 1,
    }


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (("2010", "2018"), (Period("2010-01-01", END), Period(END))),
        (("", "2018-06"), (Period("", "2018-07-01"), Period("2018-07-01"))),
        (("", "2018-12-31", "2020", "2020-12"), (Period("", END), Period("2020-01-01", "2021-01-01"))),
        (("2019", "", "", ""), (Period("2019-01-01"), None)),
        (("", "2018", "", "2019"), (Period("", END), Period(END, "2020-01-01"))),
    ],
)
def test_periods_include_their_last_day(dates: tuple[str, ...], expected: object) -> None:
    assert periods(*dates) == expected


@pytest.mark.parametrize(
    ("dates", "reason"),
    [
        (("2018-13",), "--from: '2018-13' is not a date"),
        (("", "soon"), "--until: 'soon' is not a date"),
        (("", "9999"), "--until: '9999' is not a date"),
        (("2018", "2017"), "--until 2017 is before --from 2018"),
        (("", "2018", "2018-12-31"), "overlap"),
        (("", "", "2019"), "overlap"),
    ],
)
def test_impossible_periods_are_refused(dates: tuple[str, ...], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        periods(*dates)
