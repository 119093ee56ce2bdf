"""Erase a person, whose account stays without a name."""

import argparse
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.models import User
from accounts.selectors import user_named
from participation.people.erasure import erase, erasure_of


class Command(BaseCommand):
    help = (
        "Empty the account of a person, and delete what else names them. What results depend on stays under the number "
        "of the account. Without --yes, only say what would be erased and what stays."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("user", help="username, or the number of the account")
        parser.add_argument("--yes", action="store_true", help="erase; it cannot be undone")

    def handle(self, *args: object, **options: Any) -> None:
        name = options["user"]
        user = user_named(name) or (User.objects.filter(pk=name).first() if name.isdecimal() else None)
        if user is None:
            raise CommandError(f"There is no user {name}.")
        erasure = erase(user=user) if options["yes"] else erasure_of(user)
        self.stdout.write(f"{'Erased' if options['yes'] else 'Would erase'} the account {user.pk}, and rows:")
        self._list(erasure.erased)
        self.stdout.write(f"Stays under the name former-{user.pk}, because results depend on it:")
        self._list(erasure.kept)
        self.stdout.write("Stays with the old user name: texts of the audit log, which is never changed.")
        if not options["yes"]:
            self.stdout.write("Nothing was changed. Erase with --yes.")

    def _list(self, rows: Mapping[str, int]) -> None:
        for name, n in rows.items():
            self.stdout.write(f"  {n:,}  {name}")
        if not rows:
            self.stdout.write("  none")
