"""Store the protocols that ship with Assay, so that tracks can use them."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from tracks.protocols import services as protocol_services


class Command(BaseCommand):
    help = "Store the protocols that ship with Assay. Repeating the command changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            stored = protocol_services.load_shipped()
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write(f"{len(stored)} protocols: {', '.join(protocol.slug for protocol in stored)}")
