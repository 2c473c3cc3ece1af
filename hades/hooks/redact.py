"""Redaction: secrets are replaced before a text is stored.

Three signs mark a secret: a form that only keys have (`ghp_…`, `AKIA…`, a private key's frame), a
name that says so (`password = …`, `API_KEY=…`, `Authorization: Bearer …`), and an address with a
password in it. Hashes, ids and other random-looking words without such a sign stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from hades.language.patterns import lazy_pattern

_PRIVATE_KEY = lazy_pattern(
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
    r"[\sA-Za-z0-9+/=:,.\\-]{0,20000}"
)
_FORMS = lazy_pattern(
    r"(?<![A-Za-z0-9_-])(?:"
    r"gh[pousr]_[A-Za-z0-9]{30,255}|github_pat_[A-Za-z0-9_]{40,255}|glpat-[A-Za-z0-9_-]{20,64}"
    r"|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])|AIza[A-Za-z0-9_-]{35}"
    r"|ya29\.[A-Za-z0-9_-]{20,512}"
    r"|sk-(?:ant-|proj-|svcacct-|or-v1-|lf-)?[A-Za-z0-9_-]{20,255}"
    r"|(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,255}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,255}|xapp-[A-Za-z0-9-]{10,255}"
    r"|SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,128}|key-[0-9a-f]{32}"
    r"|hf_[A-Za-z0-9]{30,64}|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,255}"
    r"|dop_v1_[0-9a-f]{64}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|sq0(?:atp|csp)-[A-Za-z0-9_-]{22,64}"
    r"|hv[sb]\.[A-Za-z0-9_-]{20,255}|AGE-SECRET-KEY-1[A-Z0-9]{58}|glsa_[A-Za-z0-9_]{30,64}"
    r"|lin_api_[A-Za-z0-9]{30,64}|ntn_[A-Za-z0-9]{30,64}|secret_[A-Za-z0-9]{32,64}"
    r"|eyJ[A-Za-z0-9_-]{8,2048}\.eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,2048}"
    r"|dckr_pat_[A-Za-z0-9_-]{20,64}|tskey-[A-Za-z0-9-]{16,128}|nvapi-[A-Za-z0-9_-]{40,128}"
    r"|gsk_[A-Za-z0-9]{40,64}|r8_[A-Za-z0-9]{30,64}|pscale_(?:tkn|pw)_[A-Za-z0-9_-]{30,64}"
    r"|\d{8,10}:AA[A-Za-z0-9_-]{32,34}"
    r")"
)
_HOOK_ADDRESS = lazy_pattern(
    r"(https://(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)"
    r"[A-Za-z0-9/_-]{10,255}"
)
_ADDRESS = lazy_pattern(
    r"(?<![a-z0-9+.-])([a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{0,100}):([^\s@/'\"]{1,200})@"
)
_HEADER = lazy_pattern(
    r"(?i)(\b(?:authorization|x-api-key|x-auth-token|cookie|set-cookie)\b[\"']?[ \t]{0,4}[:=]"
    r"[ \t\"']{0,4}(?:(?:bearer|basic|token|apikey|digest)[ \t]{1,4})?)([^\s\"',;]{8,4096})"
)
_BEARER = lazy_pattern(r"(?i)(\bbearer[ \t]{1,4})([A-Za-z0-9._~+/=-]{20,4096})")
_NAMED = lazy_pattern(
    r"(?i)(?<![A-Za-z0-9])((?:[A-Za-z0-9]{1,40}[_.-]){0,6}"
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|api_?-?key|apikey|access_?-?key|private_?-?key"
    r"|signing_?-?key|encryption_?-?key|master_?-?key|account_?-?key|credentials?|client_?-?secret|auth_?-?key|dsn|"
    r"[a-z]{1,20}(?:Password|Secret|Token|ApiKey|AccessKey))"
    r"(?![_.-](?:name|id|hash|count|type|url|uri|path|file|length|limit|ttl|policy|field|column)\b)"
    r"(?:[_.-][A-Za-z0-9]{1,20}){0,2}[\"']?[ \t]{0,4}(?:=>|:=|[:=](?!=))[ \t]{0,4})"
    r"(\"[^\"\n]{1,400}\"|'[^'\n]{1,400}'|[^\s\"',;}){]{1,400})"
)
_SAID = lazy_pattern(
    r"(?i)(\b(?:password|passphrase|passcode|api key|secret key|access token|token|pin)"
    r"(?: (?:for|of) [^\s]{1,40}(?: [^\s]{1,40})?)? (?:is|was|to)(?: now| set to)?:?[ \t]{1,2})"
    r"([\"'`]?[^\s\"'`]{4,200}[\"'`]?)"
)
_FLAG = lazy_pattern(
    r"(?i)((?:^|\s)(?:--?(?:password|passwd|pass|token|secret|api-?key|auth-token)[= ]"
    r"|-p(?=\S{6})))"
    r"([\"']?[^\s\"'-][^\s\"']{3,200}[\"']?)"
)
_USER = lazy_pattern(r"((?:^|\s)(?:-u|--user)[= ][\"']?[^\s:\"']{1,80}:)([^\s\"']{4,200})")

_PLAIN = lazy_pattern(
    r"(?i)[\"'`]?(?:true|false|null|none|nil|undefined|yes|no|on|off|required|optional|missing|empty"
    r"|string|str|int|bool|boolean|number|bytes|any|object|self|this|set|unset|invalid|valid|wrong"
    r"|expired|rotated|changed|needed|not|the|a|an|in|on|from|for|by|to|of|stored|kept|redacted"
    r"|example|changeme|placeholder|xxx+|\*{3,}|\.{3,}|…|todo|here|your[-_ ].*|<.*|\$.*|%.*|\{.*"
    r"|\[.*|env\W.*|os\W.*|process\W.*|config\W.*|settings\W.*|getenv.*|secrets\W.*|vault:.*"
    r"|(?-i:[A-Z]{2,40}(?:_[A-Z0-9]{1,40}){1,8})|\d{1,4}|[a-z_]{1,60}\(.*|optional\[.*|(?:str|int)\b.*"
    r"|https?://[^@]*)[\"'`]?[.,;]?"
)
"""Values that are not secrets: types, placeholders, names of variables, ordinary words."""
_WORD = lazy_pattern(r"[\"'`]?[A-Za-z][a-z]{0,30}(?:[._-][a-z]{1,30}){0,4}[\"'`]?[.,;:!?]?")

REDACTED = "[redacted]"


def redact(text: str) -> str:
    """Return the text with every secret that has a known sign replaced by `[redacted]`."""
    text = _FORMS.sub(REDACTED, _PRIVATE_KEY.sub(REDACTED, text))
    text = _HOOK_ADDRESS.sub(rf"\1{REDACTED}", text)
    text = _ADDRESS.sub(_address, text)
    for pattern, is_plain in (
        (_HEADER, _is_placeholder),
        (_BEARER, _is_placeholder),
        (_USER, _is_placeholder),
        (_NAMED, _is_plain),
        (_SAID, _is_word),
        (_FLAG, _is_plain),
    ):
        text = pattern.sub(_value(is_plain), text)
    return text


def redact_counted(text: str) -> tuple[str, int]:
    """Return the redacted text, and how many secrets were replaced."""
    redacted = redact(text)
    return redacted, redacted.count(REDACTED) - text.count(REDACTED)


def _address(match: re.Match[str]) -> str:
    return match[0] if _is_placeholder(match[2]) else f"{match[1]}:{REDACTED}@"


def _value(is_plain: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces the value, group 2 of a match, unless it is plain."""

    def replace(match: re.Match[str]) -> str:
        if REDACTED in match[2] or is_plain(match[2]):
            return match[0]
        quote = match[2][0] if match[2][0] in "\"'`" else ""
        return f"{match[1]}{quote}{REDACTED}{quote}"

    return replace


def _is_placeholder(value: str) -> bool:
    return _PLAIN.fullmatch(value) is not None


def _is_plain(value: str) -> bool:
    """Return whether an assigned value is a placeholder or code, not a secret."""
    return _is_placeholder(value) or value.endswith(("(", "()", ")"))


def _is_word(value: str) -> bool:
    """Return whether a value after “the password is” is an ordinary word."""
    return _is_plain(value) or _WORD.fullmatch(value) is not None
