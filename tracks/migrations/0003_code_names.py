from random import SystemRandom

from django.db import migrations, models


def give_numbers(apps, schema_editor):
    """Give each person who judges a number, as the first export of their track would have."""
    assessors = apps.get_model("tracks", "Assessor").objects
    people = assessors.filter(user__is_machine=False)
    for track_id in people.filter(pseudonym=None).order_by("track").values_list("track", flat=True).distinct():
        rows = people.filter(track=track_id)
        new = list(rows.filter(pseudonym=None))
        SystemRandom().shuffle(new)
        last = rows.aggregate(last=models.Max("pseudonym", default=0))["last"]
        for number, assessor in enumerate(new, last + 1):
            assessor.pseudonym = number
        assessors.bulk_update(new, ["pseudonym"], batch_size=1000)


class Migration(migrations.Migration):

    dependencies = [
        ("tracks", "0002_leak_check_digest"),
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.AlterField(
            model_name="assessor",
            name="pseudonym",
            field=models.PositiveIntegerField(
                editable=False,
                help_text="The number in the code name, such as A17: chosen at random, and never changed.",
                null=True,
            ),
        ),
        migrations.RunPython(give_numbers, migrations.RunPython.noop),
    ]
