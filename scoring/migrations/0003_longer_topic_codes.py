from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("scoring", "0002_undefined_intervals")]

    operations = [
        migrations.AlterField(
            model_name=model,
            name="topic",
            field=models.CharField(db_collation="C", max_length=400),
        )
        for model in ("qrelsentry", "score")
    ]
