"""Sessions in the database, read by a prepared statement: every request of a user reads one."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from web.statements import Statement, Table

_SESSION = Table(Session, "session")
_STORED = Statement(
    f"SELECT {_SESSION.columns} FROM django_session session"  # noqa: S608 - of constants
    " WHERE session.session_key = %(key)s AND session.expire_date > %(now)s"
)


class SessionStore(db.SessionStore):
    """Django's store with its own way to read."""

    def _get_session_from_db(self) -> Session | None:
        rows = _STORED.rows(key=self.session_key, now=timezone.now())
        if rows:
            return _SESSION.read(rows[0])
        self._session_key = None
        return None
