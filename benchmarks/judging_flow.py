"""The requests of an assessor of Assay, for the load generator of judging_speed.py, which has the class `Flow`."""

import html
import re

from load import Flow, Stop

FIELD = re.compile(r'name="(csrfmiddlewaretoken|request_id|shown)" value="([^"]*)"')
CHOICES = ("high", "medium", "low", "not-relevant")


class Assay(Flow):
    """Log in, start, then submit and read the page of the next task. The submission also takes the next task."""

    def fields(self, page):
        return {name: html.unescape(value) for name, value in FIELD.findall(page)}

    def login(self):
        page = self.req("login_page", "GET", "/login/")
        token = self.fields(page)["csrfmiddlewaretoken"]
        person = {"username": self.user, "password": self.password}
        self.req("login", "POST", "/login/", {"csrfmiddlewaretoken": token, **person})
        assert self.status == 302, "login failed"

    def start(self):
        page = self.req("desk", "GET", "/judge/")
        token = self.fields(page)["csrfmiddlewaretoken"]
        self.req("accept", "POST", f"/judge/batches/{self.batch}/next/", {"csrfmiddlewaretoken": token})
        return self.open(self.location)

    def open(self, path):
        if "/tasks/" not in path:
            raise Stop
        return path, self.fields(self.req("task_page", "GET", path))

    def cycle(self, state):
        path, fields = state
        choice = CHOICES[self.judged % len(CHOICES)]
        self.req("submit", "POST", path, {**fields, "choice": choice, "comment": "", "seconds": "1"})
        if self.status != 302:
            return None
        self.judged += 1
        return self.open(self.location)
