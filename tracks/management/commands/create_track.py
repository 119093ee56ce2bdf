"""Create a track, as the page *Create a track* does."""

import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.forms import model_to_dict

from corpus.collections.selectors import collection_named
from tracks.console import add_by, organizer_of, refusals
from tracks.models import Track
from tracks.protocols import services as protocol_services
from tracks.protocols.selectors import protocols
from tracks.tracks import services
from tracks.tracks.forms import TrackForm
from web.forms import errors_in


class Command(BaseCommand):
    help = "Create a track, as a draft that only organizers see."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("slug", help="short name for the address, such as arqmath-2020")
        parser.add_argument("--name", required=True, help="name of the track")
        parser.add_argument(
            "--protocol", required=True, help="slug of a protocol of the site, or path of a .toml file to add"
        )
        parser.add_argument("--collection", metavar="SLUG", help="collection that runs search")
        parser.add_argument(
            "--topic-collection", metavar="SLUG", help="collection with the threads of the topics"
        )
        parser.add_argument("--description", default="", help="shown to everyone")
        add_by(parser)

    def handle(self, *args: object, **options: Any) -> None:
        user = organizer_of(options["by"])
        with refusals():
            name = options["protocol"]
            if name.endswith(".toml"):
                protocol = protocol_services.store(text=Path(name).read_text("utf-8"), by=user)
            elif (stored := protocols().filter(slug=name).first()) is not None:
                protocol = stored
            else:
                raise CommandError(f"There is no protocol {name}.")
            given = {name: options[name] for name in ("slug", "name", "description")}
            fields = model_to_dict(Track(), TrackForm.Meta.fields) | given | {"protocol": protocol.pk}
            for name in ("collection", "topic_collection"):
                if (slug := options[name]) is not None:
                    if (collection := collection_named(slug)) is None:
                        raise CommandError(f"There is no collection {slug}.")
                    fields[name] = collection.pk
            form = TrackForm(fields, instance=Track())
            if not form.is_valid():
                raise CommandError("\n".join(errors_in(form)))
            track = services.create(track=form.save(commit=False), by=user)
        self.stdout.write(f"{track.slug} is created as a draft, with the protocol {protocol.slug}.")
