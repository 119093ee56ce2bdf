"""Store the protocols that come with Assay, so that tracks can be made from them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from corpus.errors import Refused
from corpus.services import load_shipped_protocols


class Command(BaseCommand):
    help = "Store the protocols that come with Assay; harmless to repeat."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            stored = load_shipped_protocols()
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write(f"{len(stored)} protocols: {', '.join(protocol.slug for protocol in stored)}")
