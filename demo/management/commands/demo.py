"""`manage.py demo`: create the demo campaign."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from assay.errors import Refused
from demo import campaign, people


class Command(BaseCommand):
    help = (
        "Create the demo campaign: one finished track, one in progress, and six users with one password. Repeating it "
        "changes nothing. With the embedded database the password is public; with any other database, a random "
        "one is printed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--password", help="password of the users that are created now, instead of the default"
        )

    def handle(self, *args: object, password: str | None, **options: Any) -> None:
        try:
            is_new = campaign.make(password=password or people.password_for_new(), say=self.say)
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        state = "is ready" if is_new else "exists already; nothing was changed"
        self.stdout.write("\n".join([f"The demo campaign {state}.", *people.lines()]))

    def say(self, step: str, is_needed: bool) -> None:
        """Print a step if somebody watches, or if the user needs it later."""
        if is_needed or self.stdout.isatty():
            self.stdout.write(f"Demo: {step}")
            self.stdout.flush()
