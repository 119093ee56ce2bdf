"""`manage.py demo`: the demo campaign, as demo/README.md describes it."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from demo import campaign, people


class Command(BaseCommand):
    help = (
        "Make the demo campaign: one finished track, one in progress, and six logins with one password. Harmless to "
        "repeat. With the embedded database the password is well known; with any other a new one is drawn and shown."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--password", help="for the logins that are made now, instead of the usual one")

    def handle(self, *args: Any, password: str | None, **options: Any) -> None:
        try:
            is_new = campaign.make(password=password or people.password_for_new(), say=self.say)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        state = "is ready" if is_new else "is there already; nothing was changed"
        self.stdout.write("\n".join([f"The demo campaign {state}.", *people.lines()]))

    def say(self, step: str, is_needed: bool) -> None:
        """What happens, for somebody who watches; what is needed later, in any case."""
        if is_needed or self.stdout.isatty():
            self.stdout.write(f"Demo: {step}")
            self.stdout.flush()
