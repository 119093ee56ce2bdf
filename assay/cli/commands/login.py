"""Log in to a site: store an access token, for the commands that talk to the site.

Create the token on the site, on Your account, Access tokens, with the scopes that you need: read and runs to take part.
The command asks for the token. Without a terminal, it reads it from standard input. It is stored in the keyring of the
operating system if the Python library keyring is installed, otherwise in a file that only you can read.
"""

import argparse
import os
import sys
from getpass import getpass
from urllib.parse import urlsplit

from assay.cli.main import SERVER, TOKEN, add
from assay.client import credentials
from assay.client.server import Server, require_httpx
from assay.errors import InputError

EXAMPLE = "assay login --server https://assay.example.org"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add(parser, "--server")
    parser.add_argument("--file", action="store_true", help="store the token in the file, not in the keyring")
    parser.add_argument("--forget", action="store_true", help="remove the stored token of the site")


def run(arguments: argparse.Namespace) -> int:
    url = arguments.server or os.environ.get(SERVER, "")
    if arguments.forget:
        print(f"The token of {credentials.forget(url)} is removed here. Revoke it on the site.")  # noqa: T201
        return 0
    login = credentials.stored(url)
    url = (url or (login.server if login else "")).rstrip("/")
    if not url:
        raise InputError("give --server with the address of the site, such as https://assay.example.org")
    if not url.startswith(("https://", "http://")):
        raise InputError(f"{url} is not the address of a site; it begins with https://")
    require_httpx("this command")
    token = _ask(url)
    with Server(url, token) as server:
        me = server.get("me/")
    place = credentials.store(url, token, in_file=arguments.file)
    name, scopes, end = me["token"]["name"], ", ".join(me["token"]["scopes"]), me["token"]["expires_at"][:10]
    print(f"You are {me['username']} at {url}, with the token “{name}” ({scopes}) until {end}.")  # noqa: T201
    print(f"The token is in {place}.")  # noqa: T201
    is_here = urlsplit(url).hostname in {"localhost", "127.0.0.1", "::1"}
    if url.startswith("http://") and not is_here:
        print(f"assay login: {url} is not encrypted: others may read the token on its way", file=sys.stderr)  # noqa: T201
    return 0


def _ask(url: str) -> str:
    if token := os.environ.get(TOKEN, ""):
        return token
    if not sys.stdin.isatty():
        token = sys.stdin.readline().strip()
    else:
        print(f"Create a token at {url}/account/tokens/ and paste it here. It is not shown.")  # noqa: T201
        token = getpass("Token: ").strip()
    if not (token and token.isascii() and token.isprintable()):
        raise InputError("this is not a token; it begins with assay_")
    return token
