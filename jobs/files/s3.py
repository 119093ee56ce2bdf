"""The storage in an S3-compatible service, such as Amazon S3, Ceph, Garage, MinIO or SeaweedFS."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings
from django.core.files import File
from storages.backends.s3 import S3Storage

from jobs.files.cache import FileCache
from jobs.files.storage import PIECE

# What services answer that have no unfinished uploads, do not know them, or do not let Assay see them.
NO_UPLOADS = {"AccessDenied", "MethodNotAllowed", "NoSuchUpload", "NotImplemented"}


@contextmanager
def _answering() -> Iterator[None]:
    """Raise `OSError`, as other storages do, if the service refuses or does not answer."""
    try:
        yield
    except (Boto3Error, BotoCoreError, ClientError) as error:
        raise OSError(errno.EIO, f"The file storage does not answer as expected: {error}") from error


class ObjectStorage(S3Storage):  # type: ignore[misc]  # django-storages has no types
    """A bucket whose objects are read through copies on the disk of this machine.

    S3 shows an object when its upload is complete. Each reading asks the service for the object's ETag, so a copy is
    never older than its object.
    """

    def __init__(self, **options: Any) -> None:
        config = Config(
            signature_version="s3v4",
            # services other than Amazon's rarely have a host name for each bucket, and not all know its checksums
            s3={"addressing_style": "path" if options.get("endpoint_url") else "auto"},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            retries={"mode": "standard", "max_attempts": 4},
            connect_timeout=5,
        )
        super().__init__(client_config=config, file_overwrite=False, **options)
        self.cache = FileCache(Path(settings.VAR_DIR) / "cache" / "files", settings.S3_CACHE_BYTES)

    @property
    def bucket(self) -> Any:
        """The bucket, through the connection of this thread: boto3 does not share them between threads."""
        return self.connection.Bucket(self.bucket_name)

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        if mode != "rb":
            raise ValueError(f"Files are stored once, so they can only be read; the mode was {mode}.")
        with _answering():
            stored = self.bucket.Object(self._normalize_name(name))
            try:
                stored.load()
            except ClientError as error:
                if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
                    raise FileNotFoundError(errno.ENOENT, f"The file storage has no file {name}") from None
                raise
            key = f"{self.endpoint_url} {self.bucket_name} {stored.key} {stored.e_tag}"
            return File(self.cache.open(key, stored.content_length, stored.download_fileobj), name)

    def read_range(self, name: str, start: int, stop: int) -> Iterator[bytes]:
        """Some bytes of an object, in pieces and without a copy on this machine."""
        if start >= stop:
            return
        with _answering():
            stored = self.bucket.Object(self._normalize_name(name)).get(Range=f"bytes={start}-{stop - 1}")
            yield from stored["Body"].iter_chunks(PIECE)

    def _save(self, name: str, content: "File[bytes]") -> str:
        with _answering():
            saved: str = super()._save(name, content)
            return saved

    def delete(self, name: str) -> None:
        """Delete a file, or what a killed process stored of it."""
        with _answering():
            super().delete(name)
            self._abort_uploads(self._normalize_name(name))

    def _abort_uploads(self, key: str) -> None:
        client = self.connection.meta.client
        try:
            answer = client.list_multipart_uploads(Bucket=self.bucket_name, Prefix=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in NO_UPLOADS:
                return
            raise
        for upload in answer.get("Uploads", []):
            if upload["Key"] == key:
                client.abort_multipart_upload(Bucket=self.bucket_name, Key=key, UploadId=upload["UploadId"])

    def exists(self, name: str) -> bool:
        with _answering():
            return bool(super().exists(name))

    def size(self, name: str) -> int:
        with _answering():
            return int(super().size(name))

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        with _answering():
            folders, files = super().listdir(name)
            return folders, files
