"""Statements that each connection prepares once, and the objects that they read."""

from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.db.models import TextField, Value
from django.db.models.functions import Concat
from django.test.utils import CaptureQueriesContext

from corpus.models import Collection
from tests.helpers.factories import make_track
from tracks.models import Track
from web.statements import Prepared, Statement, insert

pytestmark = pytest.mark.django_db


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


def test_prepared_query_makes_the_objects_of_its_query_set_and_what_was_inserted() -> None:
    new = Collection(slug="posts", name="Posts", hosts=["a.org", "b.org"], counts={"documents": 3})
    posts = insert(new)
    track = make_track(collection=posts)
    query = Prepared(
        lambda track: (
            Track.objects.filter(pk=track, name__contains="%")
            .select_related("collection", "topic_collection")
            .defer("collection__name")
            .annotate(shown=Concat("name", Value(" %"), output_field=TextField()))
        )
    )

    assert query(track=track.pk) == []  # it is compiled once, and then
    Track.objects.filter(pk=track.pk).update(name="100 %")
    with CaptureQueriesContext(connection) as queries:
        [read] = query(track=track.pk)
        assert (read, read.shown, read.topic_collection) == (track, "100 % %", None)
        assert (read.collection, read.collection.hosts) == (posts, ["a.org", "b.org"])
        assert read.collection.counts == {"documents": 3}
        assert read.collection.created_at == posts.created_at
    assert [each["sql"].split()[0] for each in queries] == ["EXECUTE"]
    assert read.collection.name == "Posts"


def test_cursors_are_planned_for_all_rows() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW cursor_tuple_fraction")
        assert cursor.fetchone() == ("1",)
