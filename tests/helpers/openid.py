"""An OpenID Connect provider on this machine, which says what a test wants."""

import http.server
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

CLIENT = "the-client"
SECRET = "the-secret-of-the-client"


@dataclass
class OpenIdProvider:
    """A provider: `person` is at the browser, and `claims` replace those of the token."""

    address: str = ""
    person: dict[str, Any] = field(default_factory=dict)
    claims: dict[str, Any] = field(default_factory=dict)
    user_info: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    has_other_key: bool = False
    is_broken: bool = False
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def discovery(self) -> dict[str, Any]:
        names = {"authorization": "authorize", "token": "token", "userinfo": "userinfo"}
        return {
            "issuer": self.address,
            "jwks_uri": f"{self.address}/keys",
            **{f"{name}_endpoint": f"{self.address}/{path}" for name, path in names.items()},
        }

    def keys(self) -> dict[str, Any]:
        public = ECAlgorithm.to_jwk(self.key.public_key(), as_dict=True)
        return {"keys": [public | {"kid": "first", "use": "sig", "alg": "ES256"}]}

    def answer(self, asked: dict[str, str]) -> str:
        """The address to which the browser goes after somebody has logged in at the provider."""
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        answer = {"error": self.error} if self.error else {"code": code}
        return f"{asked['redirect_uri']}?{urlencode(answer | {'state': asked['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        asked = self.codes.pop(form["code"])  # a code works once
        assert form["client_secret"] == SECRET
        assert form["redirect_uri"] == asked["redirect_uri"]
        assert form["code_verifier"]
        now = int(time.time())
        claims = {"iss": self.address, "aud": CLIENT, "iat": now, "exp": now + 60, "nonce": asked["nonce"]}
        key = ec.generate_private_key(ec.SECP256R1()) if self.has_other_key else self.key
        text = jwt.encode(claims | self.person | self.claims, key, "ES256", headers={"kid": "first"})
        return {"access_token": "an-access-token", "token_type": "Bearer", "id_token": text}


class _Handler(http.server.BaseHTTPRequestHandler):
    provider: OpenIdProvider

    def do_GET(self) -> None:
        path, provider = urlsplit(self.path), self.provider
        if path.path == "/authorize":
            asked = {name: values[0] for name, values in parse_qs(path.query).items()}
            self.send_response(302)
            self.send_header("Location", provider.answer(asked))
            self.end_headers()
            return
        documents = {
            "/.well-known/openid-configuration": {} if provider.is_broken else provider.discovery(),
            "/keys": provider.keys(),
            "/userinfo": provider.person | provider.user_info,
        }
        self._send(documents[path.path])

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self._send(self.provider.token({name: values[0] for name, values in form.items()}))

    def _send(self, document: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: Any) -> None:
        """Write nothing."""


@contextmanager
def running(port: int = 0) -> Iterator[OpenIdProvider]:
    """A provider that answers on a port of this machine."""
    provider = OpenIdProvider()
    handler = type("Handler", (_Handler,), {"provider": provider})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), handler)
    provider.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield provider
    server.shutdown()
    server.server_close()
    thread.join()
