"""Redaction: secrets are replaced before a text is stored.

Three signs mark a secret: a form that only keys have (`ghp_…`, `AKIA…`, a private key's frame), a
name that announces it (`password = …`, `API_KEY=…`, `Authorization: Bearer …`), and an address with
a password in it. Hashes, ids and other random-looking words without such a sign stay. The prefixes
of keys are in `secret_prefixes.csv`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

from hades.language.patterns import lazy_pattern

PREFIXES = Path(__file__).with_name("secret_prefixes.csv")
_CHARACTERS = {
    "hex": "[0-9a-fA-F]",
    "hex-": "[0-9a-fA-F-]",
    "upper": "[A-Z0-9]",
    "alnum": "[A-Za-z0-9]",
    "word": "[A-Za-z0-9_-]",
    "dotted": "[A-Za-z0-9_.=-]",
    "base64": "[A-Za-z0-9_+/=-]",
}
"""The characters of a key, as a pattern, by their name in `secret_prefixes.csv`."""
_BEGIN = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))"
"""The beginning of a word; in escaped text, a letter of `\\n` may be before it."""


def _prefixed(table: str) -> str:
    """Return the source of a pattern for the keys of the table.

    Keys are grouped by their first letter, so that few of them are tried at each position.
    """
    rows = [line.split(",") for line in table.splitlines() if not line.startswith("#")]
    keys = sorted((prefix, kind, least) for _, prefix, kind, least in rows)
    groups = []
    for first, group in groupby(keys, key=lambda key: key[0][0]):
        # the longest first: `xoxe.xox` continues where `xoxe-` ends
        longest = sorted(group, key=lambda key: -len(key[0]))
        forms = [
            f"{re.escape(prefix[1:])}{_CHARACTERS[kind]}{{{least},2048}}"
            for prefix, kind, least in longest
        ]
        groups.append(f"{re.escape(first)}(?:{'|'.join(forms)})")
    return f"{_BEGIN}(?:{'|'.join(groups)})"


_PREFIXED = lazy_pattern(_prefixed(PREFIXES.read_text("utf-8")))
_PRIVATE_KEY = lazy_pattern(
    r"(?:-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----|Private-Lines: \d{1,4}\n)"
    r"[\sA-Za-z0-9+/=:,.\\-]{0,20000}"
)
_FORMS = lazy_pattern(
    _BEGIN + r"(?:(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Z0-9])"
    r"|eyJ[A-Za-z0-9_-]{8,2048}\.eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,2048}"
    r"|\d{8,10}:AA[A-Za-z0-9_-]{32,34}"  # Telegram
    r"|[MNO][A-Za-z0-9_-]{23,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}"  # Discord
    r"|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"  # Airtable
    r"|[ps]at\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"  # Harness
    r"|[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"  # Terraform Cloud
    r"|[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"  # MaxMind
    r"|[0-9a-f]{32}-us\d{1,2}"  # Mailchimp
    r"|[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"  # Entra ID
    r"|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9+/]{76}\+A[A-Za-z]{2}[A-Za-z0-9+/]{6}=="  # Azure
    r"|[A-Za-z0-9_-]{42,44}Az(?:Se|Fu|Ca)[A-Za-z0-9_-]{6,8}"
    r"|(?:sc|ext|scauth|authress)_[a-z0-9]{5,30}\.[a-z0-9]{4,6}\.acc[_-][A-Za-z0-9_.+/=-]{40,160}"
    r"|\d{15,16}\|[A-Za-z0-9_-]{27,40}"  # Facebook
    r"|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"  # Resend
    r"|\d/\d{16}(?:/\d{16})?:[0-9a-f]{32})"  # Asana
)
_HOOK_ADDRESS = lazy_pattern(
    r"(https?://(?:hooks\.slack\.com/(?:services|workflows|triggers)"
    r"|discord(?:app)?\.com/api/webhooks|[a-z0-9]{1,60}\.webhook\.office\.com/webhookb2)/)"
    r"[A-Za-z0-9/@_-]{10,255}"
)
_ADDRESS = lazy_pattern(
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}://[^\s:/@'\"]{0,100}:([^\s@/'\"]{1,200})@"
)
_SIGNED = lazy_pattern(r"[?&](?:sig|X-Amz-Signature)=([A-Za-z0-9%+/=_-]{20,400})")
_HEADER = lazy_pattern(
    r"(?i)\b(?:authorization|x-api-key|x-auth-token|cookie|set-cookie)\b[\"']?[ \t]{0,4}[:=]"
    r"[ \t\"']{0,4}(?:(?:bearer|basic|token|apikey|digest)[ \t]{1,4})?([^\s\"',;]{8,4096})"
)
_BEARER = lazy_pattern(r"(?i)\bbearer[ \t]{1,4}([A-Za-z0-9._~+/=-]{20,4096})")
_USER = lazy_pattern(r"(?:^|\s)(?:-u|--user)[= ][\"']?[^\s:\"']{1,80}:([^\s\"']{4,200})")

_NAME = (
    r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,40}[_.-]){0,6}"
    r"(?:pass(?:word|wd|phrase|code)?|passwort|kennwort|pwd|psk|secret|token|api_?-?key|_auth"
    r"|(?:access|private|signing|encryption|master|account|auth|preshared)_?-?key|credentials?|dsn"
    r"|[a-z]{1,20}(?:Password|Secret|Token|ApiKey|AccessKey))"
    r"(?![_.-](?:name|id|hash|count|type|url|uri|path|file|length|limit|ttl|policy|field|column)\b)"
    r"(?:[_.-][A-Za-z0-9]{1,20}){0,2}"
)
"""A name whose value is a secret: `DB_PASSWORD`, `client_secret`, `spring.datasource.password`."""
_QUOTE = r"\\{0,7}[\"']"
"""A quotation mark, also in JSON inside of JSON."""
_IS = r"[ \t]{0,4}[:=][ \t]{0,4}"
_VALUE = (
    r"(?:\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|\\{1,7}[\"']([^\"'\\\n]{1,400})\\{1,7}[\"']"
    r"|([^\s\"',;)}\\][^\s\"',;)}]{0,400}))"
)
_NAMED = lazy_pattern(
    rf"(?i){_NAME}(?:{_QUOTE}(?:\](?={_IS}{_QUOTE}))?)?"
    r"[ \t]{0,4}(?:=>|:=|[:=](?!=))[ \t]{0,4}"
    rf"(?:[|>][+-]?[ \t]{{0,4}}\n[ \t]{{1,40}})?{_VALUE}"  # a block of YAML begins with | or >
)
_ELEMENT = lazy_pattern(
    rf"(?i)<(?:[A-Za-z]{{1,40}}:)?{_NAME}>\s{{0,40}}([^<>\s]{{1,400}})\s{{0,40}}</"
)
_PAIR = lazy_pattern(
    rf"(?i)\b(?:key|name)(?:{_QUOTE})?{_IS}(?:{_QUOTE})?{_NAME}"
    rf"(?:{_QUOTE})?[\s,]{{1,40}}(?:{_QUOTE})?value(?:{_QUOTE})?{_IS}{_VALUE}"
)
"""A name and its value as two fields, as in Kubernetes: `name: DB_PASSWORD`, `value: …`."""
_ARGUMENT = lazy_pattern(
    rf"(?i)[\"']{_NAME}[\"'],[ \t]{{0,4}}[\"']([^\"'\n]{{6,400}})[\"']"
    r"|\bset[A-Za-z_]{0,20}(?:password|secret|token|apikey)\([\"']([^\"'\n]{6,400})[\"']"
)
"""A name and its value as arguments: `define('DB_PASSWORD', '…')`."""
_SPACED = lazy_pattern(
    rf"(?i)(?:\b(?:ENV|ARG|setx|config(?:ure)? set)[ \t]{{1,4}}{_NAME}[ \t]{{1,4}}"
    r"|\blogin[ \t]{1,4}\S{1,80}\s{1,40}password[ \t]{1,4}"  # netrc
    r"|\b(?:requirepass|masterauth|vault login|convertto-securestring)[ \t]{1,4}"
    r"|\bhtpasswd[ \t]{1,4}-[a-z]{0,5}b[a-z]{0,5}[ \t]{1,4}(?:\S{1,80}[ \t]{1,4}){2}"
    r"|\b(?:sshpass|(?:docker|podman) login|redis-cli)\b[^\n;|&]{0,80}?[ \t]-[pa][ \t]{1,4}"
    r"|\bsecret set\b[^\n;|&]{0,80}?[ \t](?:--body|-b)[ =])"
    r"[\"']?([^\s\"'<>(-][^\s\"'<>(]{3,400})"
)
"""Commands and files in which a space is between a name or an option and the secret."""
_SQL = lazy_pattern(
    r"(?i)\b(?:password(?: for \S{1,80} ?=)?|identified(?: with \S{1,40})? by)[ \t]{1,4}"
    r"'([^'\n]{1,400})'"
)
_PGPASS = lazy_pattern(
    r"(?<![A-Za-z0-9_.*-])[A-Za-z0-9_.*-]{1,80}:(?:54\d\d|6432|\*):[A-Za-z*_][\w*-]{0,40}"
    r":[A-Za-z*_][\w*-]{0,40}:([^\s:]{4,200})"
)
_KEYED = lazy_pattern(
    r"\b[A-Z0-9]{2,20}_KEY(?:_ID)?[\"']?[ \t]{0,4}[:=][ \t]{0,4}[\"']?([A-Za-z0-9_+/=-]{16,200})"
)
"""Matches names such as STRIPE_KEY, which may also be those of a table or a cache."""
_SAID = lazy_pattern(
    r"(?i)\b(?:password|passphrase|passcode|api key|secret key|access token|token|pin"
    r"|passwort|kennwort)(?: (?:for|of|für) [^\s]{1,40}(?: [^\s]{1,40})?)?"
    r" (?:is|was|to|ist|lautet)(?: now| set to)?:?[ \t]{1,2}[\"'`]?([^\s\"'`]{4,200})"
)
_FLAG = lazy_pattern(
    r"(?i)(?:^|\s)(?:--?(?:[a-z]{1,20}-){0,2}(?:password|passwd|passphrase|pass|token|secret"
    r"|api-?key|access-?key)[= ]|-p(?=\S{6}))[\"']?([^\s\"'-][^\s\"']{3,200})"
)

_PLAIN = lazy_pattern(
    r"(?i)(?:true|false|null|none|nil|undefined|yes|no|on|off|required|optional|missing|empty"
    r"|string|str|int|bool|boolean|number|bytes|any|object|self|this|set|unset|invalid|valid|wrong"
    r"|expired|rotated|changed|needed|not|the|a|an|in|on|from|for|by|to|of|stored|kept|redacted"
    r"|example|changeme|placeholder|xxx+|\*{3,}|\.{3,}|…|todo|here|your[-_ ].*|[|>]"
    r"|[*&!][a-z_]{0,60}|<[^<>]*>.*|<[<=/-]?[a-z_]{0,40}"
    r"|\$[{(].*|\$[a-z_]{1,60}\d{0,2}(?:(?:->|::?|\.)[a-z_]{1,60}){0,4}(?:[\[(].*)?|\$\d?"
    r"|%[sdr]|%\(.*|%[a-z_]{1,60}%|%?\{\{?[^{}]*\}?\}.*|\{+[a-z_.]{0,60}:?|\[.*\].*|\[[a-z_]{0,60}"
    r"|env\W.*|os\W.*|process\W.*|config\W.*|settings\W.*|getenv.*|secrets\W.*|vault:.*"
    r"|(?-i:[A-Z]{2,40}(?:_[A-Z0-9]{1,40}){1,8})|\d{1,4}|[a-z_]{1,60}\(.*|optional\[.*|(?:str|int)\b.*"
    r"|https?://[^@]*)[\"'`]?[.,;]?"
)
"""Values that are not secrets: types, placeholders, names of variables, ordinary words."""
_WORD = lazy_pattern(r"[A-Za-z][a-z]{0,30}(?:[._-][a-z]{1,30}){0,4}[.,;:!?]?")
_NAME_LIKE = lazy_pattern(
    r"[A-Z_]{1,80}"
    r"|[A-Z]{0,10}[a-z]{2,30}(?:(?:[._ -]{1,2}[A-Z]{0,10}|[A-Z]{1,10})[a-z]{2,30}){0,12}"
    r"\d{0,3}[.,;:!?]?"
)

REDACTED = "[redacted]"


def redact(text: str) -> str:
    """Return the text with every secret that has a known sign replaced by `[redacted]`."""
    text = _PREFIXED.sub(_key, _PRIVATE_KEY.sub(REDACTED, text))
    text = _HOOK_ADDRESS.sub(rf"\1{REDACTED}", _FORMS.sub(REDACTED, text))
    for pattern, is_plain in (
        (_ADDRESS, _is_placeholder),
        (_SIGNED, _is_placeholder),
        (_HEADER, _is_placeholder),
        (_BEARER, _is_placeholder),
        (_USER, _is_placeholder),
        (_PAIR, _is_plain),
        (_NAMED, _is_plain),
        (_ELEMENT, _is_plain),
        (_SQL, _is_plain),
        (_PGPASS, _is_plain),
        (_ARGUMENT, _is_name),
        (_SPACED, _is_word),
        (_KEYED, _is_readable),
        (_SAID, _is_word),
        (_FLAG, _is_plain),
    ):
        text = pattern.sub(_value(is_plain), text)
    return text


def redact_counted(text: str) -> tuple[str, int]:
    """Return the redacted text, and how many secrets were replaced."""
    redacted = redact(text)
    return redacted, redacted.count(REDACTED) - text.count(REDACTED)


def _key(match: re.Match[str]) -> str:
    """Replace a key. One without a digit or a capital is a name, such as `sk-some-css-class`."""
    return REDACTED if _has_digit(match[0]) or not match[0].islower() else match[0]


def _has_digit(value: str) -> bool:
    return any(map(str.isdigit, value))


def _value(is_plain: Callable[[str], bool]) -> Callable[[re.Match[str]], str]:
    """Return a function that replaces the value, the only group of a match, unless it is plain."""

    def replace(match: re.Match[str]) -> str:
        group = match.lastindex or 0
        if REDACTED in match[group] or is_plain(match[group]):
            return match[0]
        start = match.start(group) - match.start()
        end = match.end(group) - match.start()
        return f"{match[0][:start]}{REDACTED}{match[0][end:]}"

    return replace


def _is_placeholder(value: str) -> bool:
    return _PLAIN.fullmatch(value) is not None


def _is_plain(value: str) -> bool:
    """Return whether an assigned value is a placeholder or code, not a secret."""
    return _is_placeholder(value) or value.endswith(("(", "()", ")"))


def _is_word(value: str) -> bool:
    """Return whether a value after “the password is” is an ordinary word."""
    return _is_plain(value) or _WORD.fullmatch(value) is not None


def _is_name(value: str) -> bool:
    """Return whether an argument reads as a name or a sentence, so is no secret."""
    return _is_plain(value) or _NAME_LIKE.fullmatch(value) is not None


def _is_readable(value: str) -> bool:
    """Return whether a value lacks capitals, small letters or digits; a random value has all of
    them."""
    return value.islower() or value.isupper() or not _has_digit(value)
