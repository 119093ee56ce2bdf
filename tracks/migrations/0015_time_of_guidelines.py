from django.db import migrations, models
from django.utils import timezone


class Migration(migrations.Migration):
    """A loaded archive brings the time at which guidelines were published."""

    dependencies = [("tracks", "0014_closed_by_deadline")]

    operations = [
        migrations.AlterField(
            model_name="guidelinesversion",
            name="published_at",
            field=models.DateTimeField(default=timezone.now, editable=False),
        ),
    ]
