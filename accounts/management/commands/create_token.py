"""`manage.py create_token`: an access token for a program, without the pages."""

import argparse
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from accounts import tokens
from accounts.selectors import user_named
from accounts.tokens import MAX_DAYS
from assay.errors import Refused
from web.models import Scope


class Command(BaseCommand):
    help = "Create an access token of a user, and print its text, which is stored nowhere."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("user", help="username")
        parser.add_argument("--name", default="command", help="what will use it; default: command")
        parser.add_argument(
            "--scope",
            action="append",
            choices=Scope.values,
            help="what it may do; can be repeated; default: read",
        )
        parser.add_argument(
            "--track", default="", metavar="SLUG", help="the only track where it is valid; default: all"
        )
        parser.add_argument(
            "--days",
            type=int,
            default=90,
            choices=range(1, MAX_DAYS + 1),
            metavar="N",
            help=f"days until it expires, 1 to {MAX_DAYS}; default: 90",
        )

    def handle(self, *args: object, **options: Any) -> None:
        user = user_named(options["user"])
        if user is None or not user.is_active:
            raise CommandError(f"There is no active user {options['user']}.")
        try:
            new = tokens.create(
                user=user,
                name=options["name"],
                scopes=options["scope"] or [Scope.READ],
                track=options["track"],
                expires_at=timezone.now() + timedelta(days=options["days"]),
            )
        except Refused as refusal:
            raise CommandError(refusal.message) from refusal
        self.stdout.write(new.text)
