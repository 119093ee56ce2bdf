"""The embedded servers: started once, stopped by the last holder, and sound after any kill."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from server import embedded, os_account, paths
from tests.fixtures import wait_until


@pytest.fixture
def var(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A `var/` of its own, whose servers are stopped and whose data outside are removed at the end."""
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")
    folder = tmp_path_factory.mktemp("var")
    monkeypatch.setattr(os_account, "OUTSIDE", Path(f"/tmp/assay-outside-{os.getpid()}"))
    yield folder
    with embedded.postgres(folder, start=False), embedded.redis(folder, start=False):
        pass
    subprocess.run(["rm", "-rf", str(os_account.OUTSIDE)], check=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """The data of a PostgreSQL that was started once."""
    folder = Path(tempfile.mkdtemp(prefix="assay-cluster-"))
    folder.chmod(0o711)  # for the account of the server
    server = embedded.Postgres(folder / "data", options=embedded.THROWAWAY)
    server.start()
    server.stop()
    yield server.data
    shutil.rmtree(folder)


@pytest.fixture
def copied_data(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New data are a copy of others: to create them takes most of the time of a test."""

    def copy(server: embedded.Postgres) -> None:
        subprocess.run(["cp", "-a", str(cluster), str(server.data)], check=True)

    monkeypatch.setattr(embedded.Postgres, "_create", copy)


def postmaster(var: Path) -> int:
    return int((paths.data(var) / "postmaster.pid").read_text().split("\n")[0])


def answer(var: Path, query: str) -> object:
    connection = psycopg2.connect(paths.database_url(paths.data(var)))
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(query)
        row = cursor.fetchone() if cursor.description else None
    connection.close()
    return row[0] if row else None


def test_application_is_not_a_superuser(var: Path) -> None:
    with embedded.postgres(var):
        assert answer(var, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
        assert (
            answer(var, "SELECT datlocale FROM pg_database WHERE datname = current_database()") == "C.UTF-8"
        )


@pytest.mark.usefixtures("copied_data")
def test_last_holder_stops_the_servers_and_the_data_remain(var: Path) -> None:
    with embedded.postgres(var):
        answer(var, "CREATE TABLE kept AS SELECT 42 AS n")
        with embedded.postgres(var):
            pass
        assert answer(var, "SELECT n FROM kept") == 42

    assert not embedded.Postgres(paths.data(var)).is_running

    with embedded.postgres(var):
        assert answer(var, "SELECT n FROM kept") == 42


def test_partial_database_is_created_again(var: Path) -> None:
    with embedded.postgres(var, start=False):
        data = paths.data(var)
    half = data.with_name("postgres.new-1a2b3c4d")
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")

    with embedded.postgres(var):
        assert answer(var, "SELECT 1") == 1
    assert not list(data.parent.glob("postgres.new*"))


@pytest.mark.usefixtures("copied_data")
def test_pid_file_that_names_another_process_does_not_prevent_the_start(var: Path) -> None:
    with embedded.postgres(var):
        pass
    (paths.data(var) / "postmaster.pid").write_text(f"{os.getpid()}\n{paths.data(var)}\n0\n5432\n\n\n\n\n")

    with embedded.postgres(var):
        assert answer(var, "SELECT 1") == 1


def test_servers_that_a_killed_holder_left_are_taken_over(var: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from server import embedded, os_account\n"
        f"os_account.OUTSIDE = Path({str(os_account.OUTSIDE)!r}); var = Path({str(var)!r})\n"
        "with embedded.postgres(var), embedded.redis(var): print('up', flush=True); time.sleep(60)\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=paths.ROOT)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"up\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    left = postmaster(var)

    with embedded.postgres(var), embedded.redis(var):
        assert postmaster(var) == left
        assert answer(var, "SELECT 1") == 1
        assert embedded.Redis(var / "redis").is_running
    assert not embedded.Redis(var / "redis").is_running


@pytest.mark.usefixtures("copied_data")
def test_postgres_starts_again_after_a_crash(var: Path) -> None:
    with embedded.postgres(var):
        answer(var, "CREATE TABLE kept AS SELECT 7 AS n")
        os.kill(postmaster(var), signal.SIGKILL)
        wait_until(lambda: not embedded.Postgres(paths.data(var)).is_running)

    with embedded.postgres(var):
        assert answer(var, "SELECT n FROM kept") == 7


def test_a_server_named_by_the_environment_is_left_alone(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/assay")
    monkeypatch.setenv("REDIS_URL", "redis://elsewhere/0")

    with embedded.postgres(var), embedded.redis(var):
        pass

    assert list(var.iterdir()) == []
    monkeypatch.delenv("DATABASE_URL")
    monkeypatch.delenv("REDIS_URL")


def test_folder_of_another_user_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)

    with pytest.raises(os_account.ServerError, match="Remove it, or run Assay as that user"):
        os_account.private_folder(tmp_path / "link")


def test_a_missing_wheel_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(paths, "postgres_binaries", lambda: None)

    with pytest.raises(os_account.ServerError, match=r"Run `make setup`, install .* or set DATABASE_URL"):
        embedded.Postgres(tmp_path / "postgres")


@pytest.mark.skipif(
    not any(Path("/").glob("usr/lib/postgresql/*/bin/initdb")),
    reason="needs a PostgreSQL of Debian's packages",
)
def test_without_the_wheel_the_postgresql_of_the_machine_serves(
    var: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be older: its locale is then that of the system."""
    monkeypatch.setattr(paths, "_wheel_folder", lambda package: None)

    with embedded.postgres(var):
        connection = psycopg2.connect(paths.database_url(paths.data(var)))
        with connection.cursor() as cursor:
            cursor.execute("SELECT version(), upper('\u00e9'), 'a' < 'B', '\u00e9' ~ '\\w'")
            version, *characters = cursor.fetchone()
        connection.close()

    installed = {path.parts[4] for path in Path("/usr/lib/postgresql").glob("*")}
    assert version.split()[1].partition(".")[0] in installed
    assert characters == ["\u00c9", False, True]


def test_a_chosen_folder_without_programs_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAY_POSTGRES_BIN", str(tmp_path))

    with pytest.raises(os_account.ServerError, match=f"{tmp_path} has no initdb. Set ASSAY_POSTGRES_BIN"):
        embedded.Postgres(tmp_path / "postgres")


def test_too_old_a_postgresql_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "initdb").write_text("#!/bin/sh\necho 'initdb (PostgreSQL) 12.4'\n")
    (tmp_path / "initdb").chmod(0o755)
    tmp_path.chmod(0o755)
    server = embedded.Postgres(tmp_path / "postgres")
    server.binaries = tmp_path
    server.account = os_account.Account(os.geteuid(), os.getegid(), switch=False)

    with pytest.raises(os_account.ServerError, match=r"has PostgreSQL 12\. Assay needs version 14 or newer"):
        server._locale()


def test_message_of_initdb_is_shown(var: Path) -> None:
    with embedded.postgres(var, start=False):
        server = embedded.Postgres(paths.data(var))

    with pytest.raises(os_account.ServerError, match=r"initdb in .* failed"):
        server._run("initdb", "--encoding=KLINGON", "-U", "postgres", folder=server.data.with_name("klingon"))


def test_without_redis_nothing_is_started(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "redis_binary", lambda: None)

    with embedded.redis(var):
        assert not embedded.Redis(var / "redis").is_running


def test_redis_that_cannot_start_gives_the_reason(var: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = var / "redis-server"
    broken.write_text("#!/bin/sh\necho out of memory >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(paths, "redis_binary", lambda: broken)

    with pytest.raises(os_account.ServerError, match=r"did not start\.\nout of memory"), embedded.redis(var):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root keeps the data outside the checkout")
class TestUnderRoot:
    def test_data_are_in_a_folder_that_the_account_can_enter(self, var: Path) -> None:
        with embedded.postgres(var):
            assert (var / "postgres").is_symlink()
            assert paths.data(var).stat().st_uid != 0
        assert var.stat().st_mode & 0o077 == 0

    def test_programs_in_a_closed_folder_are_copied_out(
        self, var: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os_account, "can_enter", lambda folder, who: False)

        with embedded.postgres(var):
            assert answer(var, "SELECT 1") == 1

        assert list(os_account.OUTSIDE.glob("postgresql-*"))

    @pytest.mark.usefixtures("copied_data")
    def test_removing_var_starts_again_and_keeps_the_old_data(self, var: Path) -> None:
        with embedded.postgres(var):
            answer(var, "CREATE TABLE old AS SELECT 1 AS n")
        (var / "postgres").unlink()

        with embedded.postgres(var):
            assert answer(var, "SELECT to_regclass('old')") is None

        assert paths.data(var).with_name("postgres.old").is_dir()

    @pytest.mark.usefixtures("copied_data")
    def test_a_copied_checkout_does_not_share_the_database(self, var: Path, tmp_path: Path) -> None:
        with embedded.postgres(var):
            pass
        (tmp_path / "postgres").symlink_to(paths.data(var))

        with pytest.raises(os_account.ServerError, match="is a copy"), embedded.postgres(tmp_path):
            pass

    @pytest.mark.usefixtures("copied_data")
    def test_moved_checkout_keeps_its_data(self, var: Path, tmp_path: Path) -> None:
        with embedded.postgres(var):
            answer(var, "CREATE TABLE kept AS SELECT 5 AS n")
        (tmp_path / "postgres").symlink_to(paths.data(var))
        (var / "postgres").unlink()

        with embedded.postgres(tmp_path):
            assert answer(tmp_path, "SELECT n FROM kept") == 5

    def test_missing_data_are_named(self, var: Path) -> None:
        (var / "postgres").symlink_to("/nowhere/postgres")

        with pytest.raises(os_account.ServerError, match="no longer exist"), embedded.postgres(var):
            pass

        (var / "postgres").unlink()


@pytest.mark.browser
def test_the_front_page_needs_no_other_host(live_server: LiveServer, browser_page: Page) -> None:
    response = browser_page.goto(live_server.url)

    assert response is not None
    assert response.status == 200
    assert "Assay" in browser_page.title()


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

    assert paths.var_folder() == paths.ROOT / "var"

    monkeypatch.setenv("ASSAY_VAR", "/srv/data")

    assert paths.var_folder() == Path("/srv/data")


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
    monkeypatch.setattr(paths, "POSTGRES_FOLDERS", ())
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(paths.importlib.util, "find_spec", lambda name: None)

    assert paths.postgres_binaries() is None
    assert paths.redis_binary() is None
