"""Markup of documentation sites in Markdown: MDX, Hugo, MkDocs, Docusaurus and HTML.

Tags, shortcodes, comments, scripts and imports are taken out, and admonitions become paragraphs
that begin with their kind. Line n of the result comes from line n of the file. A file without such
markup, and code, is left as it is.
"""

from __future__ import annotations

import re

from hades.language.english.lexicon import word_set

FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_TAGS = (
    "a abbr b big blockquote br button caption center col colgroup dd details div dl dt em "
    "figcaption figure font footer h[1-6] header hr i iframe img kbd li main mark nav ol p picture "
    "s section small source span strong summary svg table tbody td tfoot th thead tr u ul "
    "video"
)
_TAG = re.compile(rf"</?(?:{_TAGS.replace(' ', '|')})(?:\s[^<>]{{0,500}})?/?>", re.IGNORECASE)
_ONLY_TAGS = re.compile(r"\s*+(?:</?[A-Z][\w.]{0,60}+(?:[\s/][^<>]{0,1000}+)?+>\s*+)++$")
"""A line of nothing but components, as `<TabItem value="linux" label="Linux">`."""
_OPEN_COMPONENT = re.compile(r"\s*<[A-Z][\w.]{0,60}(?:\s[^<>]{0,1000})?$")
_LABEL = re.compile(r"\b(?:label|title|caption|summary|file-name)=\"([^\"<>]{1,300})\"")
_ANCHOR = re.compile(
    r"<a\s[^<>]{0,300}href=\"([^\"<>\s]{1,300})\"[^<>]{0,300}>([^<>\[\]]{1,300})</a>"
)
_HIDDEN = re.compile(r"(?<!`)<!--|<(script|style)\b[^<>]{0,500}>", re.IGNORECASE)
_MODULE = re.compile(
    r"import\s+(?:[\w*{][^'\"]{0,300}\sfrom\s+)?['\"][^'\"]{1,300}['\"];?\s*$"
    r"|export\s+(?:const|let|default|function|async)\b"
)
_CODE_SPAN = re.compile(r"(`[^`\n]{1,500}`)")
_SHORTCODE = re.compile(r"\{\{[<%]\s{0,9}(/?)([\w-]{1,60})((?:\s[^{}]{0,500}?)?)\s{0,9}/?[>%]\}\}")
_CODE_SHORTCODE = re.compile(
    r"\s*\{\{[<%]\s{0,9}/?(?:highlight|mermaid)\b\s{0,9}([\w-]{0,20})[^{}]{0,200}\}\}\s*$"
)
_VALUES = tuple(
    re.compile(pattern + r"\"([^\"]{1,300})\"")
    for pattern in (
        r"\btext=",
        r"\btitle=",
        r"\bcaption=",
        r"\bname=",
        r"\bpage=",
        r"\bfile=",
        r"(?:^|\s)",
        r"\bterm_id=",
    )
)
"""The named values of a shortcode that are shown, the best first. A value without a name comes
between them."""
_ADMONITIONS = word_set(
    "note info tip hint important caution warning danger success example quote question abstract "
    "bug failure details alert"
)
_COLONS = re.compile(r"\s*:{3,}\s{0,9}([\w-]{0,30})\s{0,9}(.*)$")
_INDENTED = re.compile(
    r"( *)(?:(?:!!!|\?\?\?\+?)\s{1,9}([\w-]{1,30})[^\"]{0,60}|===\+?\s{1,9}(?=\"))"
    r"(?:\"([^\"]{0,200})\")?\s*$"
)
_ALERT = re.compile(r"(\s*>\s{0,9})\[!(\w{1,20})\]\s*$")
_CONTENTS = re.compile(r"\s*(?:\[\[?_?TOC_?\]?\]|\{:[^{}]{0,100}\})\s*$", re.IGNORECASE)
_BODY_INDENT = 4


def without_site_markup(content: str) -> str:
    """Return Markdown without the markup of a site generator, with the same lines."""
    cleaner = _Cleaner(content)
    return "\n".join(cleaner.line(number) for number in range(len(cleaner.lines)))


def closes_fence(line: str, fence: str) -> bool:
    """Return whether a line ends the code that a fence began."""
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


class _Cleaner:
    """The state of one pass over the lines."""

    def __init__(self, content: str) -> None:
        self.lines = content.split("\n")
        self._fence = ""
        self._hidden_until = ""
        """The text that ends the open comment, script or import; "" if none is open."""
        self._prefix = ""
        """The kind of an admonition, for its first line."""
        self._indents: list[int] = []
        """How far the bodies of the open admonitions of MkDocs are indented."""
        self._last_places = {
            end: max((at for at, line in enumerate(self.lines) if end in line), default=-1)
            for end in ("-->", "</script>", "</style>")
        }

    def line(self, number: int) -> str:
        """Return a line without markup."""
        line = self._dedented(self.lines[number])
        if self._fence:
            shortcode = _CODE_SHORTCODE.match(line)
            if shortcode or closes_fence(line, self._fence):
                self._fence = ""
            return "```" if shortcode else line
        line = self._visible(line, number)
        if not line.strip():
            return line
        if fence := FENCE.match(line):
            self._fence = fence[1]
            return line
        if code := _CODE_SHORTCODE.match(line):
            self._fence = "```"
            return f"```{code[1]}"
        line = self._block(line)
        if "<" in line or "{{" in line:
            parts = _CODE_SPAN.split(line)
            line = "".join(part if at % 2 else self._inline(part) for at, part in enumerate(parts))
        if self._prefix and line.strip():
            text = line.lstrip()
            if text[0].isalnum() or text[0] in "`*_[\"'(":
                line = line.removesuffix(text) + f"{self._prefix}: {text}"
            self._prefix = ""
        return line

    def _dedented(self, line: str) -> str:
        """Return a line of an admonition without the indentation of its body."""
        if not line.strip():
            return line
        indent = len(line) - len(line.lstrip(" "))
        while self._indents and indent < self._indents[-1] and not self._fence:
            self._indents.pop()
        depth = min(indent, len(self._indents) * _BODY_INDENT)
        return line[depth:]

    def _visible(self, line: str, number: int) -> str:
        """Return the text of a line without comments, scripts and imports."""
        if self._hidden_until == "\n":
            is_end = not line.strip() or line.rstrip().endswith(">")
            self._hidden_until = "" if is_end else "\n"
            return ""
        if self._hidden_until:
            at = line.lower().find(self._hidden_until)
            if at < 0:
                return ""
            line = line[at + len(self._hidden_until) :]
            self._hidden_until = ""
        if _MODULE.match(line) or _OPEN_COMPONENT.match(line):
            self._hidden_until = "" if line.startswith("import") else "\n"
            return ""
        if "<" not in line:
            return line
        *commented, rest = line.split("-->")
        line = "".join(map(_before_comment, commented)) + rest
        if hidden := _HIDDEN.search(line):
            until = f"</{hidden[1].lower()}>" if hidden[1] else "-->"
            if self._last_places[until] > number:
                self._hidden_until = until
                return line[: hidden.start()]
        return line

    def _block(self, line: str) -> str:
        """Return the line of an admonition, a tab or a component as text."""
        if _CONTENTS.match(line):
            return ""
        if indented := _INDENTED.match(line):
            self._indents.append((len(self._indents) + 1) * _BODY_INDENT + len(indented[1]))
            return self._titled(indented[2] or "", indented[3] or "")
        if colons := _COLONS.match(line):
            return self._titled(colons[1], colons[2].strip("[]{} \r"))
        if alert := _ALERT.match(line):
            return f"{alert[1]}{alert[2].capitalize()}:"
        if _ONLY_TAGS.match(line):
            labels = ": ".join(_LABEL.findall(line))
            return f"{labels}:" if labels else ""
        return line

    def _titled(self, kind: str, title: str) -> str:
        """Return the title of an admonition, or keep its kind for its first line."""
        if title:
            return f"**{title}**"
        self._prefix = kind.capitalize() if kind.lower() in _ADMONITIONS else ""
        return ""

    def _inline(self, text: str) -> str:
        text = _ANCHOR.sub(r"[\2](\1)", text)
        text = _TAG.sub(lambda tag: " " if tag[0].startswith(("<br", "<td", "<th")) else "", text)
        return _SHORTCODE.sub(self._shortcode, text)

    def _shortcode(self, code: re.Match[str]) -> str:
        """Return the text that a shortcode of Hugo shows."""
        is_end, name, values = code.groups()
        if is_end:
            return ""
        if name in _ADMONITIONS:
            return self._titled(name, "")
        return next((shown[1] for value in _VALUES if (shown := value.search(values))), "")


def _before_comment(text: str) -> str:
    """Return the text up to a comment; all of the text if there is no comment."""
    is_comment = "<!--" in text and "`<!--" not in text
    return text.partition("<!--")[0] if is_comment else f"{text}-->"
