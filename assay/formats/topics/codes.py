"""Reads the codes of topics for commands: from any file of topics, or from a list with one code per line."""

from pathlib import Path

from assay.errors import BadFile, InputError
from assay.formats.compression import Limits, opened, unpack
from assay.formats.text import Undecodable
from assay.formats.topics.reader import BadTopics, read_codes


def read_topic_codes(path: Path) -> list[str]:
    """The codes, in the order of the file; it may be compressed.

    Raises:
        InputError: The file is no file of topics that an import accepts, and no list, or it has errors.
        Unreadable: The file is damaged.
        OSError: The file cannot be read.
    """
    with opened(path, Limits()) as file:
        data = b"".join(unpack(file, Limits(), name=path.name))
    try:
        return read_codes(data, path.name)
    except Undecodable:
        raise
    except BadTopics as fault:
        raise InputError(fault.message.replace(":\n", ": ").replace("\n", "; ")) from None
    except BadFile as fault:
        raise InputError(f"{fault.message} A list has one code per line, and nothing else.") from None
