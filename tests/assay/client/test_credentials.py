"""The place where tokens of sites are kept."""

import stat
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from assay.client import credentials
from assay.client.credentials import Login
from assay.errors import InputError


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of settings of its own, on a machine without the library keyring."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "keyring", None)


class FakeKeyring(ModuleType):
    """A keyring in memory. A locked one stores nothing."""

    class KeyringError(Exception):
        pass

    def __init__(self, *, is_locked: bool = False) -> None:
        super().__init__("keyring")
        self.errors = SimpleNamespace(KeyringError=self.KeyringError)
        self.passwords: dict[tuple[str, str], str] = {}
        self.is_locked = is_locked

    def set_password(self, service: str, name: str, password: str) -> None:
        if self.is_locked:
            raise self.KeyringError("no keyring")
        self.passwords[service, name] = password

    def get_password(self, service: str, name: str) -> str | None:
        return self.passwords.get((service, name))

    def delete_password(self, service: str, name: str) -> None:
        del self.passwords[service, name]


def test_file_is_private_and_has_the_latest_site_first() -> None:
    credentials.store("https://a.test/", "assay_a")
    place = credentials.store("https://b.test", "assay_b")

    assert place == str(credentials.file_path())
    assert stat.S_IMODE(credentials.file_path().stat().st_mode) == 0o600
    assert stat.S_IMODE(credentials.file_path().parent.stat().st_mode) == 0o700
    assert credentials.stored() == Login("https://b.test", "assay_b")
    assert credentials.stored("https://a.test/") == Login("https://a.test", "assay_a")
    assert credentials.stored("https://c.test") is None
    assert list(credentials.file_path().parent.iterdir()) == [credentials.file_path()], (
        "no other file is left"
    )


@pytest.mark.parametrize("mode", [0o640, 0o604])
def test_file_that_others_read_is_refused(mode: int) -> None:
    credentials.store("https://a.test", "assay_a")
    credentials.file_path().chmod(mode)

    with pytest.raises(InputError, match=f"has mode {mode:o}, .*run chmod 600"):
        credentials.stored()


@pytest.mark.parametrize("content", ["", "[]", '{"latest": "x", "servers": {"x": {}}}'])
def test_damaged_file_is_named(content: str) -> None:
    credentials.store("https://a.test", "assay_a")
    credentials.file_path().write_text(content)

    with pytest.raises(InputError, match="is damaged: delete it"):
        credentials.stored()


def test_token_goes_to_the_keyring_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)

    place = credentials.store("https://a.test", "assay_a")

    assert place == "the keyring"
    assert "assay_a" not in credentials.file_path().read_text()
    assert credentials.stored() == Login("https://a.test", "assay_a")
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(InputError, match="the library keyring is not installed"):
        credentials.stored()


def test_token_goes_to_the_file_if_the_keyring_is_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", FakeKeyring(is_locked=True))

    assert credentials.store("https://a.test", "assay_a") == str(credentials.file_path())
    assert credentials.stored() == Login("https://a.test", "assay_a")


def test_forgotten_token_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring = FakeKeyring()
    monkeypatch.setitem(sys.modules, "keyring", keyring)
    credentials.store("https://a.test", "assay_a")
    credentials.store("https://b.test", "assay_b", in_file=True)

    assert credentials.forget("https://a.test") == "https://a.test"

    assert not keyring.passwords
    assert credentials.stored() == Login("https://b.test", "assay_b")
    with pytest.raises(InputError, match="no login at https://a"):
        credentials.forget("https://a.test")
