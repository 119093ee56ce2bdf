"""Where the embedded servers live."""

from pathlib import Path

import pytest

from server import paths


def test_socket_is_next_to_the_data() -> None:
    assert paths.sockets(Path("/srv/assay/var/postgres")) == Path("/srv/assay/var/postgres")


@pytest.mark.parametrize("folder", ["/" + "x" * 100, "/srv/my assay/var", "/srv/a,b", "/srv/it's"])
def test_long_or_unusual_path_gets_a_short_plain_socket_folder(folder: str) -> None:
    short = paths.sockets(Path(folder))

    assert short != paths.sockets(Path(folder + "2"))
    assert str(short).startswith("/tmp/assay-")
    assert len(str(short)) < 40


def test_var_is_in_the_checkout_unless_the_environment_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_VAR", "")

    assert paths.var() == paths.ROOT / "var"

    monkeypatch.setenv("ASSAY_VAR", "/srv/data")

    assert paths.var() == Path("/srv/data")


def test_without_any_redis_a_folder_is_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "redis_binary", lambda: None)

    assert paths.broker_url(Path("/srv/var")) == "filesystem://"


def test_the_redis_of_the_machine_comes_before_the_wheel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "redis-server"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert paths.redis_binary() == own


def test_missing_wheel_has_no_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "BINARY_FOLDERS", ())
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(paths.importlib.util, "find_spec", lambda name: None)

    assert paths.postgres_binaries() is None
    assert paths.redis_binary() is None
