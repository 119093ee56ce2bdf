"""Topic codes out of a file: topic XML of any lab whose topics have a `number` or `num`, or a list, one code a line."""

from pathlib import Path

from lxml import etree

from assay.errors import InputError


class TopicListError(InputError):
    """A file in which no topics can be found."""


def read_topic_codes(path: Path) -> list[str]:
    """The codes, in the order of the file.

    Raises
    ------
    TopicListError
        The file is no well-formed XML, not UTF-8, or names no topic.
    OSError
        The file cannot be read.
    """
    data = path.read_bytes()
    is_xml = data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    codes = _from_xml(data, path.name) if is_xml else _from_list(data, path.name)
    if not codes:
        raise TopicListError(f"{path.name}: no topic found; give topic XML or a list with one code a line")
    return codes


def _from_xml(data: bytes, name: str) -> list[str]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise TopicListError(f"{name}: no well-formed XML: {error}") from None
    topics = [node for node in root.iter(etree.Element) if etree.QName(node).localname.lower() == "topic"]
    codes = [node.get("number") or node.findtext("{*}num") or "" for node in topics]
    return [code.strip() for code in codes if code.strip()]


def _from_list(data: bytes, name: str) -> list[str]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TopicListError(f"{name}: not UTF-8 (byte {error.start + 1})") from None
    return [line.split()[0] for line in text.splitlines() if line.strip()]
