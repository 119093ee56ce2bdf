"""Statements that each connection prepares once, and the rows of models that they read and insert."""

from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from corpus.models import Collection
from web.statements import Statement, Table, joined

pytestmark = pytest.mark.django_db
COLLECTION = Table(Collection, "collection")
WITHOUT_NAME = Table(Collection, "collection", without=("name",))


def prepared() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM pg_prepared_statements")
        return {name for (name,) in cursor.fetchall()}


def test_statement_is_prepared_by_its_first_execution_only() -> None:
    statement = Statement(f"SELECT %(a)s::int + %(b)s::int * %(a)s::int -- {uuid4()}")

    assert statement.name not in prepared()
    with CaptureQueriesContext(connection) as queries:
        results = [statement.rows(a=n, b=2) for n in (1, 2)]

    assert results == [[(3,)], [(6,)]]
    assert statement.name in prepared()
    assert [query["sql"] for query in queries] == [
        f"EXECUTE {statement.name} (1, 2)",
        f"EXECUTE {statement.name} (2, 2)",
    ]


def test_statement_works_after_the_transaction_that_prepared_it_was_rolled_back() -> None:
    statement = Statement(f"SELECT %(text)s::text -- {uuid4()}")
    with transaction.atomic():
        statement.rows(text="1")
        transaction.set_rollback(True)

    assert statement.rows(text="it's 100 %") == [("it's 100 %",)]


def test_statement_is_planned_again_when_its_table_may_have_grown() -> None:
    statement = Statement(f"SELECT %(n)s::int -- {uuid4()}")

    results = [statement.rows(n=n) for n in range(150)]

    assert results == [[(n,)] for n in range(150)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT generic_plans + custom_plans FROM pg_prepared_statements WHERE name = %s",
            [statement.name],
        )
        assert cursor.fetchone() == (50,)


def test_table_reads_what_it_has_inserted() -> None:
    new = Collection(slug="posts", name="Posts", hosts=["a.org", "b.org"], counts={"documents": 3})

    stored = COLLECTION.insert(new)

    read = Statement(f"SELECT {COLLECTION.columns}, 7 FROM corpus_collection collection WHERE id = %(id)s")
    [row] = read.rows(id=stored.pk)
    collection = COLLECTION.read(row)
    assert row[-1] == 7
    assert collection == Collection.objects.get()
    assert (collection.hosts, collection.counts) == (["a.org", "b.org"], {"documents": 3})
    assert collection.created_at == stored.created_at
    collection.name = "Questions"
    collection.save()
    assert Collection.objects.get().name == "Questions"


def test_field_that_is_left_out_is_read_when_it_is_used() -> None:
    stored = Collection.objects.create(slug="posts", name="Posts")
    account = Table(User, "account")
    sql = f"""
        SELECT {WITHOUT_NAME.columns}, {account.columns}
        FROM corpus_collection collection LEFT JOIN accounts_user account ON account.id = 0 WHERE collection.id = %(id)s
    """

    [row] = Statement(sql).rows(id=stored.pk)

    collection, user = joined(row, WITHOUT_NAME, account)
    assert user is None
    with CaptureQueriesContext(connection) as queries:
        assert collection.name == "Posts"
    assert len(queries) == 1


def test_cursors_are_planned_for_all_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW cursor_tuple_fraction")
        assert cursor.fetchone() == ("1",)
