"""The scene of most tests of judging: a track, two topics of three answers, two assessors, an open batch."""

from dataclasses import dataclass

import pytest

from accounts.models import User
from assessment.models import Batch
from pooling.models import Pool
from tests.helpers.factories import make_assessor, make_topic, make_track
from tests.helpers.judging import make_batch, make_pool
from tests.helpers.remembered import remembered
from tracks.models import Topic, Track


@dataclass
class Scene:
    track: Track
    first: Topic
    second: Topic
    pool: Pool
    batch: Batch
    ada: User
    bob: User


@pytest.fixture
def scene(db: None) -> Scene:
    """Ada has both topics; Bob is an assessor without topics."""
    return build_scene()


@remembered
def build_scene(protocol: str = "arqmath-2020-task1") -> Scene:
    track = make_track(protocol=protocol)
    first, second = make_topic(track, "A.1"), make_topic(track, "A.2")
    ada, bob = make_assessor(track, "ada"), make_assessor(track, "bob")
    pool = make_pool(track, {first: 3, second: 3})
    batch = make_batch(pool, {ada: [first, second]})
    return Scene(track, first, second, pool, batch, ada, bob)
