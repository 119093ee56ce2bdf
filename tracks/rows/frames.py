"""The document of a frame: the template of a form with its own controls and scripts.

It has a Content-Security-Policy of its own. Its scripts run without access to the site: its origin is opaque, so that
no cookie and no page can be read, and its policy allows no request to any host, this one included. Decision: ADR 58.
"""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.templatetags.static import static

from assay.protocols.schema import FormRules
from assay.templates import filled
from corpus.threads.selectors import safe_html

SCRIPT = "tracks/frame.js"  # the only file that a frame loads
POLICY = {
    "default-src": ["'none'"],
    "style-src": ["'unsafe-inline'"],
    "img-src": ["data:"],
    "media-src": ["data:"],
    "font-src": ["data:"],
    "form-action": ["'none'"],
    "base-uri": ["'none'"],
    "frame-ancestors": ["'self'"],
    "sandbox": ["allow-scripts", "allow-forms"],
}


def framed(request: HttpRequest, form: FormRules, values: Mapping[str, str]) -> HttpResponse:
    """The document of the frame of a row. Values are HTML there, as in Turkle. The view must be exempt from
    X-Frame-Options: `frame-ancestors` allows the pages of this site.
    """
    script = request.build_absolute_uri(static(SCRIPT))
    context = {"body": safe_html(filled(form.html, values)), "script": script}
    response = render(request, "tracks/rows/frame.html", context)
    response._csp_config = POLICY | {"script-src": ["'unsafe-inline'", script]}  # type: ignore[attr-defined]
    return response
