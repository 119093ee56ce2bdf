"""`make setup`: the virtual environment, Python and front-end packages, and on request a browser for the tests.

It runs on any Python >= 3.11 before anything is installed, so it uses only the standard library. Each step remembers
the hash of its inputs, and is skipped while they stay the same.
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

import assets  # type: ignore[import-not-found]  # next to this script, which is never imported as a module
import browser  # type: ignore[import-not-found]

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
STATE = VENV / "assay-setup.json"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
CHROMIUM_PACKAGE = "@sparticuz/chromium@153.0.0"
PIP_URL = (
    "https://files.pythonhosted.org/packages/07/25/"
    "ee8c38ae72d66b844ce8eb9711ba905dba21ca1a8a0c960057c41cd23337/pip-26.3-py3-none-any.whl"
)
PIP_SHA256 = "f3b60b20ffaadd4415ed7957212a38ac63fa4c5fa375bd0f4a797777940fad13"


class SetupError(Exception):
    """A failed step, with what to do."""


def say(text: str) -> None:
    sys.stdout.write(f"setup: {text}\n")
    sys.stdout.flush()


def run(command: Sequence[object], *, hint: str, environment: dict[str, str] | None = None) -> None:
    """Run a command without showing its output. If it fails, show its last lines and the hint."""
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
        raise SetupError(f"Cannot run {command[0]}: {error}. {hint}") from error
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
    """Do a step unless it was done with the same inputs and its result still exists."""
    if done and remembered().get(step) == value:
        return
    work()
    remember(step, value)


def make_environment() -> None:
    """Make a virtual environment with a working pip. One that was copied, moved or interrupted is made again."""
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
        run([interpreter, "-m", "venv", VENV], hint="Check the free disk space and the owner of the folder.")
    else:  # Debian and Ubuntu package this part of Python separately
        run(
            [interpreter, "-m", "venv", "--without-pip", VENV],
            hint="Install python3-venv, then run make again.",
        )
        install_pip()
    remember("place", str(ROOT))


def install_pip() -> None:
    """Install pip from its wheel, after a check of its hash."""
    try:
        with urllib.request.urlopen(PIP_URL, timeout=60) as answer:
            content = answer.read()
    except urllib.error.URLError as error:
        raise SetupError(
            f"Cannot download pip ({error.reason}). Install python3-venv, then run make again."
        ) from error
    if hashlib.sha256(content).hexdigest() != PIP_SHA256:
        raise SetupError(
            f"{PIP_URL} does not have the expected hash. Install python3-venv, then run make again."
        )
    wheel = VENV / PIP_URL.rpartition("/")[2]
    wheel.write_bytes(content)
    run(
        [PYTHON, wheel / "pip", "install", "--no-index", wheel],
        hint="Install python3-venv, then run make again.",
    )
    wheel.unlink()


def pip_setting(name: str) -> str | None:
    """Return a setting of pip, from its environment or its files."""
    command = [str(PYTHON), "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    settings = dict(line.split("=", 1) for line in listed.splitlines() if "=" in line)
    keys = (f":env:.{name}", f"install.{name}", f"global.{name}")
    return next((settings[key].strip("'") for key in keys if key in settings), None)


def uv_command() -> list[object]:
    """Return the start of a command of uv, with pip's index and certificates, or nothing where uv has no wheel."""
    uv = VENV / "bin" / "uv"
    binary = [
        "--disable-pip-version-check",
        "--no-compile",
        "--only-binary",
        ":all:",
        "-c",
        ROOT / "constraints.txt",
    ]
    if not uv.exists() and not works([PYTHON, "-m", "pip", "install", *binary, "uv"]):
        return []
    options = {"--default-index": pip_setting("index-url"), "--cert": pip_setting("cert")}
    given = [word for option, value in options.items() if value for word in (option, value)]
    return [uv, "pip", "install", "--quiet", "--python", PYTHON, *given]


def pip_install(*arguments: str) -> None:
    """Install packages with uv, which needs a tenth of pip's time, or with pip where uv fails."""
    uv = uv_command()
    if uv and works([*uv, *arguments]):
        return
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", *arguments]
    run(command, hint=f"Check the network, then run make again. It continues with {arguments[-1]}.")


def install_python_packages() -> None:
    say("installing Python packages (half a minute the first time, or two minutes without uv)")
    pip_install("--no-compile", "-r", "requirements-dev.txt")  # most modules are never imported
    pip_install("--no-deps", "--no-build-isolation", "--editable", ".")  # for the command `assay`


def node_environment() -> dict[str, str]:
    """The environment in which node and npm run: those of the machine, or else of the PyPI wheel in .venv."""
    own = {"PATH": os.pathsep.join([str(VENV / "bin"), os.environ.get("PATH", "")])}
    if CERTIFICATES.exists():  # the wheel's node does not know the certificates that the machine trusts
        own |= {"NODE_EXTRA_CA_CERTS": os.environ.get("NODE_EXTRA_CA_CERTS", str(CERTIFICATES))}
    if works(["node", "--version"]) and works(["npm", "--version"]):
        return {}
    if not works([VENV / "bin" / "node", "--version"]):
        say("installing Node from PyPI, because the machine has no node and npm")
        pip_install("-r", "requirements-node.txt")
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
    npm(["ci", "--ignore-scripts"], hint="Check the network, then run make again.")
    assets.copy_all()


def build_documentation() -> None:
    """Build it as `make docs` does. After a warning nothing is kept, because `make docs` would not repeat it."""
    say("building the documentation")
    output = ROOT / "docs" / "_build"
    doctrees = output / "doctrees"
    sphinx = [PYTHON, "-m", "sphinx", "-c", "maintenance/docs", "-qW", "--keep-going", "-d", doctrees]
    try:
        run([*sphinx, "docs", output / "html"], hint="`make docs` shows more.")
    except SetupError:
        shutil.rmtree(doctrees, ignore_errors=True)
        raise


def compile_modules() -> None:
    """Compile to bytecode, so that commands start fast even if Python may not write bytecode itself."""
    works([PYTHON, "-m", "compileall", "-q", *(init.parent for init in ROOT.glob("*/__init__.py"))])


def install_browser() -> None:
    """Install a Chromium from the first source that works: apt, Playwright, npm."""
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
        + "\nNo Chromium for the browser tests. Install one (Debian: apt-get install chromium), or set "
        "CHROMIUM=/path/to/chromium."
    )


def _browser_of_apt() -> None:
    root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if not shutil.which("apt-get") or (root and not works([*root, "true"])):
        raise SetupError("You may not use apt-get on this machine.")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    install = [*root, "apt-get", "install", "-y", "-qq", "--no-install-recommends"]
    run([*root, "apt-get", "update", "-qq"], hint="", environment=quiet)
    try:
        run([*install, "chromium-headless-shell"], hint="", environment=quiet)
    except SetupError:  # only Debian has this package
        run([*install, "chromium"], hint="", environment=quiet)


def _browser_of_playwright() -> None:
    command = [PYTHON, "-m", "playwright", "install", "chromium-headless-shell"]
    run(command, hint="", environment={"PLAYWRIGHT_BROWSERS_PATH": str(browser.BROWSERS)})


def _browser_of_npm() -> None:
    """A Chromium that includes its libraries, for machines on which nothing can be installed."""
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
    parser.add_argument(
        "--no-docs", action="store_true", help="without the documentation, which a check builds"
    )
    arguments = parser.parse_args()
    with (ROOT / ".setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a second terminal waits until the first has finished
        try:
            set_up(wants_browser=arguments.browser, wants_docs=not arguments.no_docs)
        except SetupError as error:
            sys.stderr.write(f"setup: {error}\n")
            return 1
    return 0


def set_up(*, wants_browser: bool, wants_docs: bool) -> None:
    make_environment()
    pins = [path.name for path in sorted(ROOT.glob("requirements*.txt"))]
    python = digest(*pins, "constraints.txt", "pyproject.toml")
    once("python", python, install_python_packages, done=True)
    front_end = digest("package-lock.json", "package.json", "server/assets.py")
    once("front end", front_end, install_front_end, done=(assets.VENDOR / "bootstrap").is_dir())
    compile_modules()
    if wants_docs:
        # Build the documentation again after a page or a picture has changed. The site works without it
        generated = {"_build", "library", "__pycache__"}  # folders that the build itself writes
        folders = (ROOT / "docs", ROOT / "maintenance" / "docs")
        files = [path.relative_to(ROOT) for folder in folders for path in folder.rglob("*") if path.is_file()]
        names = sorted(str(file) for file in files if not generated & set(file.parts))
        is_built = (ROOT / "docs" / "_build" / "html" / "index.html").is_file()
        try:
            once("documentation", digest(*names), build_documentation, done=is_built)
        except SetupError as error:
            say(f"{error}\nsetup: the site works, but without its help pages")
    if wants_browser and not browser.find():
        install_browser()


if __name__ == "__main__":
    sys.exit(main())
