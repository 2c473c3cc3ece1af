"""EPUB: the chapters of an e-book, which are HTML pages, in reading order."""

from __future__ import annotations

import posixpath
from urllib.parse import unquote
from xml.etree import ElementTree
from zipfile import ZipFile

from hades.ingest.document import Document
from hades.ingest.readers import archive
from hades.ingest.readers.compose import Composer
from hades.ingest.readers.damage import damage_told
from hades.ingest.readers.decode import decode
from hades.ingest.readers.html import compose_html

KIND = "an e-book (.epub)"

_CONTAINER = "META-INF/container.xml"


def read_epub(raw: bytes, topic: str) -> Document:
    """An e-book without copy protection."""
    composer = Composer(topic)
    with archive.opened(raw, topic, KIND) as book, damage_told(topic, KIND):
        container = ElementTree.fromstring(book.read(_CONTAINER))
        listing = next(container.iterfind(".//{*}rootfile")).attrib["full-path"]
        package = ElementTree.fromstring(book.read(listing))
        for page in _pages(package, posixpath.dirname(listing)):
            _add(book, page, composer)
        title = next((each.text or "" for each in package.iterfind(".//{*}title")), "")
    return composer.document(title)


def _pages(package: ElementTree.Element, folder: str) -> list[str]:
    """The files of the spine; a reference that leads nowhere is passed over."""
    hrefs = {item.get("id"): item.get("href", "") for item in package.iterfind(".//{*}item")}
    spine = [hrefs.get(item.get("idref"), "") for item in package.iterfind(".//{*}itemref")]
    return [posixpath.normpath(posixpath.join(folder, unquote(href))) for href in spine if href]


def _add(book: ZipFile, page: str, composer: Composer) -> None:
    raw = book.read(page)
    if raw.strip():
        compose_html(decode(raw, f"{composer.topic} ({page})")[0], composer)
