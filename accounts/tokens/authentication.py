"""Who sends a request of the API: the user of a token, or of a session."""

from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.models import Token, User
from accounts.tokens import services
from web.api.throttles import count_guess, refuse_guesses

SCHEME = "Bearer"


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer TOKEN`. A token in an address is not accepted: addresses get into logs."""

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        """The user and the token; None if the request has no such header.

        Raises
        ------
        AuthenticationFailed
            The token is not valid.
        Throttled
            Too many wrong tokens came from this address.
        """
        words = get_authorization_header(request).decode("latin-1").split()
        if not words or words[0].lower() != SCHEME.lower():
            return None
        refuse_guesses(request._request)
        token = services.use(text=words[1]) if len(words) == 2 else None
        if token is None:
            count_guess(request._request)
            raise AuthenticationFailed("This token is wrong, expired or revoked.", code="invalid-token")
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return f'{SCHEME} realm="Assay"'
