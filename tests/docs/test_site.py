"""The built documentation: no warnings, nothing inline, nothing from elsewhere, every link of *Help* arrives."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.management import BaseCommand, get_commands, load_command_class
from django.http import Http404, HttpResponse
from django.test import Client, RequestFactory
from django.urls import URLPattern, URLResolver, get_resolver

from assay.protocols.loader import shipped_slugs
from demo.make_runs import SYSTEMS
from home import documentation
from home.help import HELP, frame
from maintenance.docs.outputs import ROOT
from maintenance.docs.outputs import pages as pages_of_commands
from tests.helpers.templates import templates

pytest.importorskip("assay_extensions.turkle")

# Addresses without a page: downloads, buttons, redirects.
NO_PAGES = {
    *(
        "tracks:row_frame",
        "tracks:test_webhook",
        "tracks:send_again",
        "assessment:task_frame",
        "assessment:preview_frame",
        "assessment:join",
        "assessment:exclude",
        "assessment:link_frame",
        "assessment:nuggets_file",
    ),
    *("turkle:run_project_import", "turkle:discard_project_import"),
    *("metaevaluation:judge_file", "metaevaluation:board_table", "blinding:map", "blinding:package"),
    *("assessment:close_finished", "assessment:draft_frame", "analyses:reliability"),
    *("tracks:add_draft", "tracks:change_draft", "tracks:change_text"),
    *("health", "llms", "logout", "documentation", "revoke_token", "end_session", "end_other_sessions"),
    *("jobs:retry", "jobs:cancel"),
    "publishing:archive_file",
    *(
        "participation:end_session",
        "participation:set_groups",
        "participation:set_organizer",
        "participation:interaction_data",
        "participation:interaction_file",
        "participation:invitation_links",
        "participation:log_sessions",
        "participation:nominate",
        "participation:plan_sessions",
        "participation:set_address",
        "participation:practice_session",
        "participation:start_session",
        "participation:take_back_session",
        "scoring:interaction_tsv",
        "pooling:pool_citations",
        "scoring:complete_topics",
        "scoring:train",
        "scoring:later_runs_file",
        "scoring:phase_file",
        "scoring:score_phase",
        "tracks:calendar",
        "tracks:skip",
        "publishing:offer_archive",
        "publishing:consent",
        "pooling:move",
        "pooling:read_start",
        "pooling:remind",
        "publishing:publish_runs",
        "publishing:withdraw_publication",
        "publishing:published_runs",
    ),
    *(
        "corpus:find",
        "corpus:find_formula",
        "corpus:start_clustering",
        "corpus:disagreements",
        "corpus:image",
    ),
    *("building:leaks_tsv", "building:accept_leaks"),
    *("building:build_file", "baselines:offer_baseline", "tracks:make_topics"),
    *("tracks:name_people", "tracks:sample_file", "tracks:undo_decision"),
    *("tracks:download", "tracks:checksums", "tracks:export_collection", "tracks:fetches_csv"),
    *("scoring:cancel_release", "scoring:offer_qrels"),
    *("tracks:history_csv", "tracks:site_history_csv"),
    *("tracks:close_track", "tracks:accept_agreement"),
    *(
        "participation:invitation_link",
        "participation:revoke_invitation",
        "participation:accept_request",
        "participation:refuse_request",
    ),
    *(
        "start",
        "participation:change_member",
        "participation:create_team",
    ),
    *("pooling:run_file", "pooling:make_ids", "pooling:pool_file", "pooling:pool_contributions"),
    *("pooling:pool_members", "pooling:pool_member_contributions", "pooling:pool_record"),
    *("pooling:pool_overlap_file", "pooling:compute_preview"),
    *("assessment:next", "assessment:open", "assessment:close", "assessment:judgments_csv"),
    *("assessment:change_plan", "machines:start_machine"),
    *("machines:run_machine", "machines:export_evidence"),
    *("estimates:sample_file", "estimates:table", "estimates:alt_test_file"),
    *("machines:machine_token", "machines:revoke_machine_token"),
    *(
        "assessment:skip",
        "assessment:give_back",
        "assessment:extend",
        "assessment:accepting",
        "assessment:undo",
    ),
    *("assessment:run_import", "assessment:discard_import"),
    *("assessment:guidelines_panel", "assessment:highlighting"),
    *("assessment:agreement_tsv", "assessment:disagreements_csv"),
    *("assessment:board_tsv", "assessment:differences_csv"),
    *("assessment:discussion_csv", "assessment:share_discussion", "assessment:note"),
    *("analyses:effect", "assessment:add_agreed", "assessment:remove_gold", "assessment:check_results_tsv"),
    *("scoring:qrels_file", "scoring:qrels_judgments", "scoring:score", "scoring:leaderboard_file"),
    *("scoring:classes_file", "scoring:groups_file"),
    *("scoring:topics_file", "scoring:archive_qrels", "analyses:analyze", "analyses:report_table"),
    *("analyses:analysis_json", "analyses:analysis_table", "scoring:evaluation_file"),
    *(
        "papers:table_file",
        "papers:comparison_file",
        "battles:board_table",
        "battles:file",
        "rubrics:graded",
        "rubrics:criteria_table",
    ),
    "battles:systems_file",
}


def pages(built: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(built.rglob("*.html")):
        yield str(path.relative_to(built)), path.read_text()


def view_names(patterns: list[URLPattern | URLResolver], prefix: str = "") -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            inner = f"{prefix}{pattern.namespace}:" if pattern.namespace else prefix
            yield from view_names(pattern.url_patterns, inner)
        elif pattern.name:
            yield f"{prefix}{pattern.name}"


def site_names() -> set[str]:
    names = view_names(get_resolver().url_patterns)
    return {name for name in names if not name.startswith(("admin:", "api:"))}


def test_no_page_has_inline_scripts_or_styles(built: Path) -> None:
    inline = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)

    offenders = {name: inline.findall(text) for name, text in pages(built) if inline.search(text)}

    assert not offenders


def test_no_page_loads_anything_from_another_host(built: Path) -> None:
    loads = re.compile(
        r"<(?:script|img|iframe|source)[^>]*\bsrc=\"(?:https?:)?//|<link[^>]*\bhref=\"(?:https?:)?//"
    )
    styles = re.compile(r"url\(\s*['\"]?(?:https?:)?//|@import")

    offenders = [name for name, text in pages(built) if loads.search(text)]
    offenders += [str(path) for path in built.rglob("*.css") if styles.search(path.read_text())]

    assert not offenders


def test_links_of_pages_work_under_any_address(built: Path) -> None:
    # In a tag: a link in an example is text.
    absolute = re.compile(r"""<\w(?:[^<>"]|"[^"]*")*?\s(?:href|src|action)="/""")

    assert not [name for name, text in pages(built) if absolute.search(text)]


def test_help_of_every_page_arrives(built: Path) -> None:
    addresses = {name: address.partition("#") for name, address in HELP.items()}
    texts = {path: (built / path).read_text() for path, _, _ in addresses.values()}

    lost = {
        name: (path, anchor)
        for name, (path, _, anchor) in addresses.items()
        if anchor and f'id="{anchor}"' not in texts[path]
    }

    assert lost == {}


def test_every_page_has_help_of_its_own() -> None:
    assert site_names() - NO_PAGES == set(HELP)


def test_an_unknown_page_has_the_first_page_as_help() -> None:
    request = RequestFactory().get("/no/such/")
    request.resolver_match = None

    assert frame(request)["help_address"] == "/help/index.html"


def test_every_shipped_protocol_is_described(built: Path) -> None:
    text = (built / "reference/protocols.html").read_text()

    assert [slug for slug in shipped_slugs() if f'<section id="{slug}">' not in text] == []


READ = re.compile(
    r"(?:environment\.(?:text|words|boolean|no_debug_pages|number|one_of|origins|database|broker|secret|proxies|mail|address|token|networks|patterns|hour|retention|backup_folder|recipients|providers|new_accounts)\(\s*|by_email=|\b(?:text|encrypted)\(|os\.environ(?:\.get)?[\(\[]\s*)"
    r"\"([A-Z][A-Z0-9_]+)\""
)
FOLDERS = {path.parent for path in ROOT.glob("*/__init__.py")} - {
    ROOT / name for name in ("maintenance", "tests")
}
NOT_OURS = {
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "PATH",
    "DJANGO_SETTINGS_MODULE",
    "NODE_EXTRA_CA_CERTS",
    "OPENBLAS_NUM_THREADS",
}
OPTION = re.compile(r"--[a-z][a-z-]*")
# Their names contain that of a service
OF_SERVICES = {"SIGN_IN_UNIVERSITY_SERVER", "SIGN_IN_UNIVERSITY_NAME"}
OF_TESTS = {"ASSAY_SHARED", "CHROMIUM", "CI", "WALK_PICTURES"}


def test_page_of_settings_is_complete() -> None:
    sources = [path for folder in FOLDERS for path in folder.rglob("*.py")]
    read = {name for path in sources for name in READ.findall(path.read_text())} - NOT_OURS

    page = (ROOT / "docs" / "reference" / "settings.md").read_text()
    rows = [
        re.findall(r"`([A-Z0-9_]+)`", row) for row in re.findall(r"^\| (`[A-Z].*?) \|", page, re.MULTILINE)
    ]
    example = re.findall(r"^(\w+)=", (ROOT / ".env.example").read_text(), re.MULTILINE)
    known = read | {*example} | OF_TESTS

    assert known - {name for row in rows for name in row} == set()
    assert {row[0] for row in rows} - known - OF_SERVICES == set()


def management_commands() -> Iterator[Path]:
    for app in ("*", "assay_extensions/*/site"):
        yield from ROOT.glob(f"{app}/management/commands/[a-z]*.py")


def options_of(command: str) -> set[str]:
    """The long options of a command of the site that are its own, not Django's."""
    parser = load_command_class(get_commands()[command], command).create_parser("manage.py", command)
    theirs = BaseCommand().create_parser("manage.py", command)
    names = {name for action in parser._actions for name in action.option_strings}
    return {name for name in names if name.startswith("--")} - set(theirs._option_string_actions)


def test_page_of_commands_names_every_command_and_option() -> None:
    page = (ROOT / "docs" / "reference" / "site-commands.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)([^\n]*)", page, re.MULTILINE))
    ours = sorted(path.stem for path in management_commands())

    different = {name: options_of(name) ^ set(OPTION.findall(rows.get(name, ""))) for name in ours}

    assert [name for name in ours if name not in rows] == []
    assert {name: options for name, options in different.items() if options} == {}


def test_every_command_of_the_site_has_operations_or_needs_the_server() -> None:
    page = (ROOT / "docs/howto/run-a-campaign-by-command.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|([^\n]*)", page, re.MULTILINE))
    of_the_server = set(re.findall(r"`(\w+)`", page.rpartition("The others look after")[2]))
    named = set(re.findall(r"assay site (\w+)", page)) | set(
        re.findall(r"`(\w+_\w+)`", " ".join(rows.values()))
    )
    schema = Client().get("/api/schema/").json()
    operations = {each["operationId"] for path in schema["paths"].values() for each in path.values()}
    ours = {path.stem for path in management_commands()}

    assert named - operations == {"tops_up"}
    assert rows.keys() | of_the_server == ours


# Emphasized words that begin with a capital letter and are no text of the site: sources, and items of lists.
NO_TEXTS = re.compile(
    r".* \d{4}.*|By an? .*|Any CSV|Bring your own lab|From a list|Go to the formula|Help to build|Staff status|Swaps"
)


def texts_of_the_site() -> str:
    """The texts of templates (with and without their tags), code and protocols, with single spaces."""
    parts = [path.read_text() for path in templates()]
    parts += [re.sub(r"\{[%{].*?[%}]\}", "", part) for part in parts]
    for folder in [*FOLDERS, ROOT / "static"]:
        paths = [path for kind in ("*.py", "*.js", "*.toml") for path in folder.rglob(kind)]
        parts += [path.read_text() for path in paths if "vendor" not in path.parts]
    return " ".join(" ".join(parts).split())


def emphasized(page: str) -> set[str]:
    """The names that a page puts between asterisks: *Judging*, and both of *Judging → Agreement*."""
    text = re.sub(r"```.*?```|`[^`]*`", "", page, flags=re.DOTALL)
    names = re.findall(r"(?<![*\w])\*([A-Z][^*]*)\*(?![*\w])", text)
    return {" ".join(part.split()).rstrip(".,") for name in names for part in name.split("→")}


def test_pages_name_buttons_and_links_as_the_site_does() -> None:
    texts = texts_of_the_site()

    unknown = {
        (page.name, name)
        for page in pages_of_commands()
        if page.parent.name != "adr"
        for name in emphasized(page.read_text())
        if name not in texts and not NO_TEXTS.fullmatch(name)
    }

    assert unknown == set()


def test_messages_of_the_troubleshooting_page_are_in_the_code() -> None:
    page = (ROOT / "docs" / "troubleshooting.md").read_text()
    code = re.sub(r'" f?"', "", texts_of_the_site())
    messages = re.findall(r"^> (.+)$", page, re.MULTILINE)

    lost = [message for message in messages if not all(part.strip() in code for part in message.split("…"))]

    assert len(messages) > 40
    assert lost == []


def test_tour_submits_the_run_of_the_demo_as_what_it_was() -> None:
    tour = " ".join((ROOT / "docs" / "tour.md").read_text().split())
    run = next(system for system in SYSTEMS if system.tag == "abacus-text")

    assert f"`demo/runs/2026/{run.tag}.tsv`" in tour
    assert f"set *Kind* to *{run.kind}* and *Uses* to *{run.uses}*" in tour


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small documentation site, next to a file that is not part of it."""
    folder = tmp_path / "html"
    (folder / "howto").mkdir(parents=True)
    (folder / "index.html").write_text("<h1>Assay</h1>")
    (folder / "howto" / "deploy.html").write_text("<h1>Deploy</h1>")
    (folder / ".hidden.html").write_text("hidden")
    (folder / "letters.woff2").write_bytes(b"wOF2")
    (folder / "objects.inv").write_text("inventory")
    (tmp_path / "secret.html").write_text("secret")
    monkeypatch.setattr(documentation, "folder", lambda: folder)
    return folder


def get(page: str | None = None, **headers: str) -> HttpResponse:
    request = RequestFactory().get("/help/", **headers)  # type: ignore[arg-type]
    request.user = AnonymousUser()
    arguments = {} if page is None else {"page": page}
    response: HttpResponse = documentation.documentation(request, **arguments)
    return response


def test_first_page(site: Path) -> None:
    response = get()

    assert response.status_code == 200
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert response.content == b"<h1>Assay</h1>"


def test_page_in_a_folder(site: Path) -> None:
    assert get("howto/deploy.html").content == b"<h1>Deploy</h1>"


def test_font_of_the_pages(site: Path) -> None:
    assert get("letters.woff2")["Content-Type"] == "font/woff2"


@pytest.mark.parametrize(
    "page",
    [
        "missing.html",
        "howto",
        "howto/",
        "",
        "../secret.html",
        "howto/../../secret.html",
        "/etc/hostname.html",
        "..\\secret.html",
        "%2e%2e/secret.html",
        ".hidden.html",
        "objects.inv",
        "index.html/",
        "index.html\x00",
    ],
)
def test_what_is_not_part_of_the_site_is_not_found(page: str, site: Path) -> None:
    with pytest.raises(Http404):
        get(page)


def test_link_out_of_the_folder_is_not_followed(site: Path) -> None:
    (site / "link.html").symlink_to(site.parent / "secret.html")

    with pytest.raises(Http404):
        get("link.html")


def test_unchanged_page_is_not_sent_again(site: Path) -> None:
    changed = get()["Last-Modified"]

    assert get(HTTP_IF_MODIFIED_SINCE=changed).status_code == 304


def test_without_built_documentation_the_page_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "folder", lambda: tmp_path / "none")

    response = get("howto/deploy.html")

    assert response.status_code == 404
    assert b"make docs" in response.content


def test_post_is_not_allowed(site: Path) -> None:
    assert documentation.documentation(RequestFactory().post("/help/")).status_code == 405


def test_each_promise_of_security_has_its_test() -> None:
    rows = re.findall(
        r"^\|([^|]*)\|[^|]*\| (?:test|`([^`]*)`) \|$", (ROOT / "SECURITY.md").read_text(), re.MULTILINE
    )
    named = [test.split("::") for _, test in rows if test]

    lost = [(path, name) for path, *_, name in named if f"def {name}(" not in (ROOT / path).read_text()]

    chapters = {chapter.split()[0] for chapter, _ in rows if chapter.strip().startswith("V")}
    assert lost == []
    assert chapters == {f"V{n}" for n in range(1, 17)}
