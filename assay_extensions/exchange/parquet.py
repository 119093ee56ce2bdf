"""Parquet files, the form of data sets on Hugging Face. They need pyarrow, which is not installed with Assay."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from tempfile import TemporaryFile
from typing import Any

from assay.errors import BadFile, InputError
from assay_extensions.exchange.content import Rows, Source

BATCH = 5_000  # rows in memory
PIECE = 1 << 20
TEXT, NUMBER = "string", "int32"


def _arrow() -> Any:
    try:
        import pyarrow  # noqa: PLC0415 -- large and optional
        import pyarrow.parquet  # noqa: PLC0415
    except ModuleNotFoundError:
        install = 'pip install "assay[parquet]", or for a site pip install -r requirements-parquet.txt'
        raise InputError(f"parquet files need pyarrow, which is not installed: {install}") from None
    return pyarrow


def check_installed() -> None:
    """Refuse in time, before other work, if pyarrow is missing."""
    _arrow()


def pieces(rows: Iterable[Sequence[object]], columns: Mapping[str, str]) -> Iterator[bytes]:
    """The bytes of a parquet file with some columns, each `TEXT` or `NUMBER`. It is written to the disk first."""
    arrow = _arrow()
    schema = arrow.schema([(name, getattr(arrow, kind)()) for name, kind in columns.items()])
    remaining = iter(rows)
    with TemporaryFile() as file:
        with arrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            while batch := list(islice(remaining, BATCH)):
                arrays = zip(zip(*batch, strict=True), schema, strict=True)
                table = arrow.table(
                    [arrow.array(cells, field.type) for cells, field in arrays], schema=schema
                )
                writer.write_table(table)
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


def rows_of(source: Source, names: Sequence[str], columns: Sequence[str]) -> Rows:
    """The rows of some parquet files, with the columns that are there.

    Raises:
        BadFile: A file is not parquet.
    """
    arrow = _arrow()
    for name in names:
        with source.opened(name) as file:
            try:
                opened = arrow.parquet.ParquetFile(file)
                kept = [column for column in opened.schema_arrow.names if column in columns]
                number = 0
                for batch in opened.iter_batches(batch_size=BATCH, columns=kept):
                    for row in batch.to_pylist():
                        number += 1
                        yield f"{name}, row {number}", row
            except arrow.ArrowException as error:
                raise BadFile(f"{name} is not a parquet file that can be read: {error}.") from None
