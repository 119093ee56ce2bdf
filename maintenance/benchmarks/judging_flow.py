"""The requests of an assessor of Assay, for the load generator of judging_speed.py, which has the class `Flow`."""

import html
import json
import re
from uuid import uuid4

from load import Flow, Stop

FIELD = re.compile(r'name="(csrfmiddlewaretoken|shown)" value="([^"]*)"')
CHOICES = ("high", "medium", "low", "not-relevant")
AS_THE_SCRIPT = {"Accept": "application/json", "Prefer": "return=representation"}


class Assay(Flow):
    """Log in, start, then submit as the page's script does: the answer contains the page of the next task."""

    def fields(self, page):
        return {name: html.unescape(value) for name, value in FIELD.findall(page)}

    def http(self, method, path, body, headers):
        is_submission = method == "POST" and "/judge/tasks/" in path
        return super().http(method, path, body, headers | AS_THE_SCRIPT if is_submission else headers)

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
        if "/tasks/" not in self.location:
            raise Stop
        return self.location, self.fields(self.req("task_page", "GET", self.location))

    def cycle(self, state):
        path, fields = state
        choice = CHOICES[self.judged % len(CHOICES)]
        entered = {"choice": choice, "comment": "", "seconds": "1", "request_id": str(uuid4()), "sent": ""}
        answer = json.loads(self.req("submit", "POST", path, fields | entered))
        if self.status != 200:
            return None
        self.judged += 1
        if "page" not in answer:
            raise Stop
        return answer["next"], self.fields(answer["page"])
