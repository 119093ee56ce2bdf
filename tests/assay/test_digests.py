"""One digest for files, pieces and bytes."""

import hashlib
import io

from assay.digests import RunningSha256, sha256_of, sha256_of_file


def test_all_digests_are_sha256_in_hexadecimal() -> None:
    data = b"assay" * 100_000
    file = io.BytesIO(data)
    file.seek(7)
    running = RunningSha256()
    running.update(data[:10])
    running.update(data[10:])

    expected = hashlib.sha256(data).hexdigest()
    assert sha256_of(data) == sha256_of_file(file) == running.value == expected
