"""arXiv metadata: papers as entities, with their authors, categories, code and citations.

Reads JSON lines with the fields of Kaggle's snapshot (`id`, `authors_parsed`, `versions` …) or of
other harvests (`arxiv_id`, `author_text`, `created`). A repository named in the abstract or the
comments is assumed to implement the paper.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.ingest.document import Bad, Block, Document, IntroducedName, Link, Origin
from hades.ingest.readers.records import Record, converted, read_records, text_field
from hades.ingest.readers.text import without_brackets
from hades.language.english.written_times import read_written_time
from hades.language.paper_ids import OLD_PAPER_ID, paper_id

AUTHORS_AT_MOST = 50
"""Large collaborations have thousands of authors, whose names say little about a paper."""
EVIDENCE_CHARACTERS_EACH_SIDE = 60

_ID = rf"(?:\d{{4}}\.\d{{4,5}}|{OLD_PAPER_ID})"
_CITED = re.compile(
    rf"arxiv(?:\.org/(?:abs|pdf|html)/|\s*[:.]\s*)({_ID})(?:v\d+)?(?!\d)", re.IGNORECASE
)
_REPOSITORY = re.compile(
    r"(?<![\w.-])(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org)[/:]+"
    r"([A-Za-z0-9](?:[\w.-]*\w)?)/([\w.-]+)",
    re.IGNORECASE | re.ASCII,
)
_NOT_OWNERS = frozenset({"about", "apps", "features", "marketplace", "orgs", "search", "topics"})

_ACCENTS = dict(
    zip(
        "`'^~=u.\"rHvdck",
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0327\u0328",
        strict=True,
    )
)
"""Accents of LaTeX as combining characters."""
_LETTERS = dict(
    zip(["aa", "AA", "ae", "AE", "l", "L", "o", "O", "oe", "OE", "ss"], "åÅæÆłŁøØœŒß", strict=True)
)
_SIGN_ACCENT = re.compile(r"\{?\\([`'^~=.\"])\s*\{?(?:\\([ij])(?![A-Za-z])|([A-Za-z]))\}?\}?")
_LETTER_ACCENT = re.compile(r"\{?\\([urHvdck])(?:\s+|\{)(?:\\([ij])(?![A-Za-z])|([A-Za-z]))\}?\}?")
_LETTER = re.compile(r"\{?\\(aa|AA|ae|AE|oe|OE|ss|[lLoO])(?![A-Za-z])(?:\{\}|\}|\s+(?=[a-z]))?")
_ESCAPED = re.compile(r"\\([_&%#$])")


def looks_like_paper(fields: dict[str, Any]) -> bool:
    """Return whether a record is the metadata of an arXiv paper."""
    return "abstract" in fields and paper_id(_written_id(fields)) is not None


def read_arxiv(path: Path) -> Iterator[Document | Bad]:
    """Yield every paper of the file as a document `arxiv/<id>`, or a Bad if it is not valid."""
    yield from converted(read_records(path), _paper)


def code_links(text: str) -> Iterator[tuple[str, int]]:
    """Yield each repository named in a text once, as `owner/repository`, and its position.

    >>> [name for name, _ in code_links("Code: https://github.com/lemire/Fast.git.")]
    ['lemire/Fast']
    """
    seen = set()
    for match in _REPOSITORY.finditer(text):
        owner = match[1]
        repository = match[2].rstrip(".-_").removesuffix(".git").rstrip(".")
        name = f"{owner}/{repository}"
        if repository and owner.lower() not in _NOT_OWNERS and name.lower() not in seen:
            seen.add(name.lower())
            yield name, match.start()


def cited_ids(text: str) -> Iterator[tuple[str, int]]:
    """Yield each arXiv id named in a text once, without its version, and its position."""
    seen = set()
    for match in _CITED.finditer(text):
        if match[1] not in seen:
            seen.add(match[1])
            yield match[1], match.start()


def _paper(record: Record) -> Document:
    written_id = _written_id(record.fields)
    own_id = paper_id(written_id)
    if own_id is None:
        raise InvalidInput(f"{written_id[:50]!r} is not an arXiv id.")
    title = _line(record, "title")
    if not title:
        raise InvalidInput("The paper has no title.")
    clean_name(title, "title")
    parts = [title, _line(record, "abstract"), _line(record, "comments")]
    content = "\n\n".join(part for part in parts if part)
    blocks = []
    start = len(title) + 2
    for part in parts[1:]:
        if part:
            blocks.append(Block(start, start + len(part), heading=title))
            start += len(part) + 2
    if not blocks:
        blocks = [Block(0, len(title), heading=title)]
    authors = _authors(record)
    categories = _categories(record)
    names = [IntroducedName(title, Origin.TITLE, "paper")]
    names += [IntroducedName(alias, Origin.ALIAS, "paper") for alias in (own_id, f"arXiv:{own_id}")]
    names += [IntroducedName(author, Origin.AUTHOR, "person") for author in authors]
    links = [Link(title, "authored_by", author) for author in authors]
    links += [Link(title, "in_category", category) for category in categories]
    for name, relation, kind, place in _named_in(content, own_id):
        names.append(IntroducedName(name, Origin.EXTRACTED, kind))
        block = max((n for n, block in enumerate(blocks) if block.start <= place), default=0)
        links.append(Link(title, relation, name, block, evidence=_around(content, place)))
    return Document(
        topic=f"arxiv/{own_id}",
        content=content,
        kind="paper",
        title=title,
        blocks=tuple(blocks),
        names=tuple(names),
        links=tuple(links),
        tags=categories,
        metadata=_metadata(record, own_id, authors),
        valid_from=_first_time(record),
    )


def _named_in(content: str, own_id: str) -> Iterator[tuple[str, str, str, int]]:
    for repository, place in code_links(content):
        yield repository, "implements", "repository", place
    for cited, place in cited_ids(content):
        if cited != own_id:
            yield cited, "cites", "paper", place


def _around(content: str, place: int) -> str:
    start = max(0, place - EVIDENCE_CHARACTERS_EACH_SIDE)
    return " ".join(content[start : place + EVIDENCE_CHARACTERS_EACH_SIDE].split())


def _written_id(fields: dict[str, Any]) -> str:
    written = fields.get("arxiv_id") or fields.get("id")
    return written.strip() if isinstance(written, str) else ""


def _line(record: Record, name: str) -> str:
    """Return a field as one line, because its line breaks have no meaning; "" if missing."""
    return " ".join(plain_letters(text_field(record, name) or "").split())


def _authors(record: Record) -> tuple[str, ...]:
    parsed = record.fields.get("authors_parsed")
    if isinstance(parsed, list) and parsed:
        written = [
            " ".join(str(part) for part in (*author[1:2], *author[:1], *author[2:3]) if part)
            for author in parsed[:AUTHORS_AT_MOST]
            if isinstance(author, list)
        ]
    else:
        text = text_field(record, "authors") or text_field(record, "author_text") or ""
        written = re.split(r",|;|\band\b", without_brackets(text, "()", " "))
    names = (" ".join(plain_letters(name).split()) for name in written)
    kept = dict.fromkeys(name for name in names if name and name != "et al.")
    return tuple(clean_name(name, "author") for name in list(kept)[:AUTHORS_AT_MOST])


def _categories(record: Record) -> tuple[str, ...]:
    value = record.fields.get("categories")
    words = value if isinstance(value, list) else re.split(r"[,\s]+", str(value or ""))
    return tuple(dict.fromkeys(word for word in words if isinstance(word, str) and word))


def _first_time(record: Record) -> datetime | None:
    """Return when the first version was submitted, else the date of the update, or None."""
    versions = record.fields.get("versions")
    first = versions[0] if isinstance(versions, list) and versions else None
    written = first.get("created") if isinstance(first, dict) else record.fields.get("created")
    moment = read_written_time(written) or read_written_time(record.fields.get("update_date"))
    return moment.at if moment else None


def _metadata(record: Record, own_id: str, authors: tuple[str, ...]) -> dict[str, Any]:
    metadata: dict[str, Any] = {"arxiv_id": own_id, "authors": list(authors)}
    for name in ("doi", "journal-ref", "updated", "update_date"):
        if isinstance(value := record.fields.get(name), str) and value.strip():
            metadata[name] = " ".join(value.split())
    return metadata


def plain_letters(text: str) -> str:
    r"""Return the text with LaTeX accents and escaped signs as Unicode; formulas stay unchanged.

    >>> plain_letters(r"Paul Erd\H{o}s, Ren\'e Schr{\"o}dinger, R\&D")
    'Paul Erdős, René Schrödinger, R&D'
    """
    if "\\" not in text:
        return text
    for pattern in (_SIGN_ACCENT, _LETTER_ACCENT):
        text = pattern.sub(_accented, text)
    text = _LETTER.sub(lambda match: _LETTERS[match[1]], text)
    return _ESCAPED.sub(r"\1", text)


def _accented(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", (match[2] or match[3]) + _ACCENTS[match[1]])
