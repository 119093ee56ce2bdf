"""Files as answers of endpoints."""

from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import BaseRenderer, JSONRenderer


class TsvRenderer(BaseRenderer):
    """Tab-separated text, as bytes. A problem stays JSON."""

    media_type = "text/tab-separated-values"
    format = "tsv"
    charset = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        content: bytes = data if isinstance(data, bytes) else JSONRenderer().render(data)
        return content
