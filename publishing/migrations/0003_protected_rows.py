"""The database refuses to change or delete what results are made of, whoever asks for it. Decision: ADR 4."""

from collections.abc import Iterator

from django.db import migrations

NEVER_CHANGED = (
    "pooling_runchange",
    "publishing_consent",
    "scoring_measurestatistics",
    "scoring_score",
)
FIXED_COLUMNS = {  # the other columns have states, or are filled in later
    "pooling_run": ("track_id", "team_id", "sha256"),
    "scoring_evaluation": ("leaderboard_id", "run_sha256"),
    "scoring_leaderboard": ("qrels_id", "protocol_digest", "measures", "average", "seed"),
    "scoring_qrels": ("track_id", "version", "protocol_id", "protocol_digest", "sha256", "n_judged"),
}
WITHOUT_TRUNCATE = (
    *NEVER_CHANGED,
    "pooling_nuggetversion",
    "pooling_run",
    "scoring_evaluation",
    "scoring_leaderboard",
    "tracks_agreementacceptance",
    "tracks_agreementversion",
    "tracks_candidatedecision",
    "tracks_guidelinesversion",
    "tracks_sitepage",
)
KEEP = """
CREATE FUNCTION publishing_keep_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'row % of % is kept: this % is refused', OLD.id, TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'integrity_constraint_violation';
END
$$;
"""


def triggers() -> Iterator[tuple[str, str, str]]:
    """The name, the table and the definition of each trigger."""
    keep = "FOR EACH ROW {}EXECUTE FUNCTION publishing_keep_row()"
    for table in NEVER_CHANGED:
        yield "keep_row", table, f"BEFORE UPDATE OR DELETE ON {table} {keep.format('')}"
    for table, columns in FIXED_COLUMNS.items():
        changed = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns)
        yield "keep_columns", table, f"BEFORE UPDATE ON {table} {keep.format(f'WHEN ({changed}) ')}"
        yield "keep_row", table, f"BEFORE DELETE ON {table} {keep.format('')}"
    for table in WITHOUT_TRUNCATE:
        refuse = "FOR EACH STATEMENT EXECUTE FUNCTION assessment_refuse_truncate()"
        yield "refuse_truncate", table, f"BEFORE TRUNCATE ON {table} {refuse}"


class Migration(migrations.Migration):
    second_step = True  # 0.1.0 changes and deletes none of these rows

    dependencies = [
        ("assessment", "0003_indexes_of_judgments"),
        ("pooling", "0004_keys_of_contributions"),
        ("publishing", "0002_formulas_of_loaded_archives"),
        ("scoring", "0007_index_of_scores"),
        ("tracks", "0009_fetch_created_at"),
    ]

    operations = [
        migrations.RunSQL(KEEP, "DROP FUNCTION publishing_keep_row();"),
        *(
            migrations.RunSQL(f"CREATE TRIGGER {name} {definition};", f"DROP TRIGGER {name} ON {table};")
            for name, table, definition in triggers()
        ),
    ]
