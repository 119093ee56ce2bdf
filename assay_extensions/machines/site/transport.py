"""Requests of the site to models, as webhooks are sent.

The name of a host is resolved once, every address that it has is checked, and redirects are not followed.
"""

import socket
import ssl
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import httpx

from assay_extensions.machines.model.client import MAX_REPLY
from tracks.webhooks.delivery import PORTS, address_refused, check_address, public_address


class PublicTransport(httpx.BaseTransport):
    """Requests to public addresses, each on a connection of its own."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request.

        Raises:
            Refused: The address leads into a private network, or to another one.
            httpx.TransportError: There was no answer.
        """
        url = str(request.url)
        check_address(url)
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or PORTS[parts.scheme]
        seconds = float((request.extensions.get("timeout") or {}).get("read") or 60)
        try:
            with socket.create_connection((public_address(host, port), port), seconds) as plain_socket:
                connected = plain_socket
                if parts.scheme == "https":
                    context = ssl.create_default_context()
                    connected = context.wrap_socket(plain_socket, server_hostname=host)
                connection = HTTPConnection(host, port)
                connection.sock = connected
                headers = {name: value for name, value in request.headers.items() if name != "connection"}
                connection.request(request.method, parts.path or "/", request.read(), headers)
                answer = connection.getresponse()
                content = answer.read(MAX_REPLY)
        except TimeoutError as error:
            raise httpx.ReadTimeout("no answer in time", request=request) from error
        except (OSError, HTTPException) as error:
            raise httpx.ConnectError(str(error), request=request) from error
        if 300 <= answer.status < 400:
            raise address_refused(f"{host} redirects to another address, which is not followed.")
        return httpx.Response(answer.status, content=content, request=request)
