"""What the tests in a browser share."""

from django.conf import settings
from django.test import Client
from playwright.sync_api import Page

from accounts.models import User


def log_in(page: Page, base: str, user: User) -> None:
    """Give a page the session of a user. It spares each test the login form and the page after it."""
    client = Client()
    client.force_login(user)
    cookie = client.cookies[settings.SESSION_COOKIE_NAME]
    page.context.add_cookies([{"name": cookie.key, "value": cookie.value, "url": base}])
