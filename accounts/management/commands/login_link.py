"""`manage.py login_link`: another way in, where no e-mail can be sent."""

import argparse
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from accounts.selectors import user_named
from accounts.services import path_of_link, remove_second_factor


class Command(BaseCommand):
    help = "Print a link with which a user can log in once, even while wrong passwords lock the account."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("user", help="username")
        parser.add_argument(
            "--site",
            default=settings.SITE_URL,
            help="address of the site, such as https://assay.example.org; default: SITE_URL, or only the path",
        )

        parser.add_argument(
            "--remove-second-factor",
            action="store_true",
            help="also remove the second factor: the device and the recovery codes are lost",
        )

    def handle(self, *args: object, **options: Any) -> None:
        user = user_named(options["user"])
        if user is None or not user.is_active:
            raise CommandError(f"There is no active user {options['user']}.")
        if options["remove_second_factor"]:
            is_removed = settings.SECOND_FACTOR and remove_second_factor(user=user)
            if not is_removed:
                raise CommandError(f"{user} has no second factor.")
        self.stdout.write(f"{options['site'].rstrip('/')}{path_of_link(user)}")
