"""Store the protocols that ship with Assay, so that tracks can use them."""

from typing import Any

from django.core.management.base import BaseCommand

from tracks.protocols import services as protocol_services


class Command(BaseCommand):
    help = "Store the protocols that ship with Assay. Repeating the command changes nothing."

    def handle(self, *args: object, **options: Any) -> None:
        loaded = protocol_services.load_shipped()
        self.stdout.write(
            f"{len(loaded.current)} protocols: {', '.join(protocol.slug for protocol in loaded.current)}"
        )
        for protocol in loaded.kept:
            self.stderr.write(
                f"{protocol.slug}: kept as it is stored, but this version of Assay ships another text. To use that in "
                f"a new track, print it with `assay protocol show {protocol.slug} --toml`, change its slug and add it "
                "in the admin."
            )
