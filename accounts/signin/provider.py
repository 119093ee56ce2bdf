"""OpenID Connect as the site does it: with a nonce, a signature that is checked, and no more data than it needs.

django-allauth trusts the ID token of a direct connection without its signature and without a nonce, which the
specification allows. Here both are checked, so that neither a proxy nor a mixed-up answer logs anybody in.
Source: OpenID Connect Core 1.0, sections 3.1.3.7 and 5.3.2.
"""

import hashlib
from typing import Any

import jwt
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.base import ProviderException
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.http import HttpRequest

ALGORITHMS = [  # with a public key: a token that is signed by the shared secret is refused
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"),
    "EdDSA",
]
CLAIMS = ["iss", "aud", "sub", "exp", "iat"]
LEEWAY_SECONDS = 60  # by which the clocks of two servers may differ
KEPT = ("name", "email", "preferred_username")
NEEDED = {"issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"}


def nonce_of(state: str) -> str:
    """The nonce of a login. The state is random, is used once and stays in the session, so the nonce does too."""
    return hashlib.sha256(f"nonce of {state}".encode()).hexdigest()


class OpenIDAdapter(OpenIDConnectOAuth2Adapter):
    """Gets the answer of a provider and checks it."""

    @property
    def openid_config(self) -> dict[str, Any]:
        config: dict[str, Any] = super().openid_config
        if missing := NEEDED - config.keys():
            raise ProviderException(f"the discovery document lacks {', '.join(sorted(missing))}")
        return config

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **answer: Any) -> Any:
        """The login of an answer.

        Raises:
            ProviderException: The answer is wrong or incomplete.
        """
        claims = self._decode_id_token(app, answer["response"].get("id_token") or "")
        if claims.get("nonce") != nonce_of(request.GET.get("state", "")):
            raise ProviderException("the nonce of the ID token is that of another login")
        person = self._fetch_user_info(token.token) if "userinfo_endpoint" in self.openid_config else claims
        if not isinstance(person, dict) or person.get("sub") != claims["sub"]:
            raise ProviderException("the ID token and the user information are about two people")
        # an address and whether it is verified, from one place
        source = person if "email" in person else claims
        address = {
            "email": source.get("email"),
            "email_verified": source.get("email_verified") in (True, "true"),
        }
        return self.get_provider().sociallogin_from_response(request, {"userinfo": claims | person | address})

    def _decode_id_token(self, app: Any, id_token: str) -> dict[str, Any]:
        try:
            with get_adapter().get_requests_session() as session:
                response = session.get(self.openid_config["jwks_uri"])
                response.raise_for_status()
            wanted = jwt.get_unverified_header(id_token).get("kid")
            known = jwt.PyJWKSet.from_dict(response.json()).keys
            keys = [key for key in known if wanted in (None, key.key_id)]
            if not keys:
                raise ProviderException(f"the provider has no key {wanted}")
            claims: dict[str, Any] = jwt.decode(
                id_token,
                keys[0],
                algorithms=ALGORITHMS,
                audience=app.client_id,
                issuer=self.openid_config["issuer"],
                leeway=LEEWAY_SECONDS,
                options={"require": CLAIMS},
            )
        except jwt.PyJWTError as error:
            raise ProviderException(f"the ID token is not valid: {error}") from error
        return claims


class Provider(OpenIDConnectProvider):
    """A service of SIGN_IN_PROVIDERS, or ORCID."""

    oauth2_adapter_class = OpenIDAdapter

    def serialize(self) -> dict[str, Any]:
        """The key that finds it after the code of the second factor: two services may have clients of one name."""
        return {**super().serialize(), "id": self.sub_id}

    def extract_extra_data(self, data: dict[str, Any]) -> dict[str, Any]:
        """The part of the answer that is kept: what the page of the account shows."""
        person = data["userinfo"]
        return {"userinfo": {key: person[key] for key in KEPT if isinstance(person.get(key), str)}}


provider_classes = [Provider]
