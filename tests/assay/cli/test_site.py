"""The commands that talk to a site, where there is none. `tests/test_program.py` has them at a real one."""

import sys
from pathlib import Path

import pytest

from assay.cli.main import main


@pytest.fixture(autouse=True)
def _no_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("ASSAY_SERVER", "ASSAY_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def failed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    return main(list(words)), capsys.readouterr().err


def test_missing_httpx_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)

    assert failed(capsys, "runs", "t") == (
        2,
        "assay runs: this command needs httpx: pip install 'assay[client]'\n",
    )


def test_missing_site_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    status, message = failed(capsys, "topics", "t")

    assert (status, message) == (
        2,
        "assay topics: name a site: log in with assay login, set the variable ASSAY_SERVER, or give --server\n",
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["login"], "give --server with the address of the site"),
        (["login", "--server", "site.test"], "it begins with https://"),
        (["login", "--forget"], "there is no login at any site to forget"),
        (["watch", "units/3"], "use jobs/9, pools/3, leaderboards/2 or runs/11"),
        (["submit", "t", "--tag", "x", __file__, __file__], "--tag is for a single run"),
        (["check", __file__], "give --protocol or --track"),
        (["check", "--kind", "primary", "--protocol", "trec-adhoc", __file__], "--kind is for a site"),
        (
            ["check", "--track", "t", "--protocol", "trec-adhoc", __file__],
            "--protocol is for a check without",
        ),
    ],
)
def test_wrong_options_end_with_2(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    status, error = failed(capsys, *words)

    assert status == 2
    assert message in error
