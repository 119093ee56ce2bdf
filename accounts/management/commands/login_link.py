"""`manage.py login_link`: another way in, where no e-mail can be sent."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from accounts.selectors import user_named
from accounts.services import path_of_link


class Command(BaseCommand):
    help = "Print a link with which a user can log in once, even while wrong passwords lock the account."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("user", help="username")
        parser.add_argument(
            "--site",
            default="",
            help="address of the site, such as https://assay.example.org; default: only the path",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        user = user_named(options["user"])
        if user is None or not user.is_active:
            raise CommandError(f"There is no active user {options['user']}.")
        self.stdout.write(f"{options['site'].rstrip('/')}{path_of_link(user)}")
