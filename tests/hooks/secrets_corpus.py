"""A hundred secrets and a hundred look-alikes, in the sentences and files in which they stand.

The values are random, from a seed, so that no scanner takes this file for a leak. A secret is
(text, value): the value must not be in the redacted text. A look-alike must stay as it is.
"""

from __future__ import annotations

import base64
import json
import random
import string

_chance = random.Random(26)
_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def _some(count: int, letters: str = _ALNUM) -> str:
    return "".join(_chance.choice(letters) for _ in range(count))


def _web_token() -> str:
    parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": _some(8), "exp": 1800000000}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts]
    return ".".join([*(part.rstrip("=") for part in encoded), _some(43)])


def _key_block(kind: str) -> str:
    body = "\n".join(_some(64) for _ in range(6))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def _forms() -> list[str]:
    """Values that show by their form that they are keys."""
    upper = string.ascii_uppercase + string.digits
    return [
        *(f"gh{kind}_{_some(36)}" for kind in "posr"),
        f"github_pat_{_some(22)}_{_some(59)}",
        f"glpat-{_some(20)}",
        f"AKIA{_some(16, upper)}",
        f"ASIA{_some(16, upper)}",
        f"AIza{_some(35)}",
        f"ya29.{_some(60)}",
        f"sk-{_some(48)}",
        f"sk-proj-{_some(60)}",
        f"sk-ant-api03-{_some(80)}",
        f"sk_live_{_some(24)}",
        f"rk_test_{_some(24)}",
        f"whsec_{_some(32)}",
        f"xoxb-{_some(12, string.digits)}-{_some(12, string.digits)}-{_some(24)}",
        f"xapp-1-{_some(11)}-{_some(13, string.digits)}-{_some(64, _HEX)}",
        f"SG.{_some(22)}.{_some(43)}",
        f"hf_{_some(34)}",
        f"npm_{_some(36)}",
        f"pypi-{_some(90)}",
        f"dop_v1_{_some(64, _HEX)}",
        f"shpat_{_some(32, _HEX)}",
        f"sq0atp-{_some(22)}",
        f"hvs.{_some(24)}",
        f"AGE-SECRET-KEY-1{_some(58, upper)}",
        f"glsa_{_some(32)}_{_some(8, _HEX)}",
        f"lin_api_{_some(40)}",
        f"dckr_pat_{_some(27)}",
        f"tskey-auth-{_some(12)}-{_some(24)}",
        f"gsk_{_some(52)}",
        f"{_some(9, '123456789')}:AA{_some(33)}",
        _web_token(),
        _web_token(),
    ]


def secrets() -> list[tuple[str, str]]:
    """Return a hundred texts, each with the secret in it."""
    sentences = (
        "Use {} for the upload.",
        "I pasted {} by mistake, sorry",
        'headers = {{"X": "{}"}}',
        "$ curl -H 'x: {}' https://api.example.com",
    )
    found = []
    for number, value in enumerate(_forms()):
        found.append((sentences[number % len(sentences)].format(value), value))
    named = (
        "DB_PASSWORD={}",
        "export API_KEY={}",
        'password: "{}"',
        "SECRET_KEY='{}'",
        "client_secret = {}",
        "AWS_SECRET_ACCESS_KEY={}",
        '"apiKey": "{}",',
        "auth_token: {}",
        "STRIPE_WEBHOOK_SECRET={}",
        "spring.datasource.password={}",
        "JWT_SECRET={}",
        "access_token={}&scope=all",
        "MYSQL_ROOT_PASSWORD: {}",
        'const dbPassword = "{}";',
        "private_key={}",
        "DJANGO_SECRET_KEY={}",
        "passphrase: {}",
        "smtp_pass={}",
        "github_token = {}",
        "token: '{}'",
        "ENCRYPTION_KEY={}",
        "AccountKey={}",
        "REDIS_PASSWORD={}",
        "pwd={}",
        "secret: {}",
    )
    for form in named:
        value = _some(20)
        found.append((form.format(value), value))
        chosen = _chance.choice(("Tulip-river-42", "hunter2!", "S0mmer#2026", "pa55w0rd.X"))
        value = chosen + _some(3)
        if len(found) < 78:
            found.append((f"# .env\n{form.format(value)}\nDEBUG=1", value))
    for scheme in ("postgresql", "mysql", "mongodb+srv", "redis", "amqp", "https", "ftp"):
        value = _some(14)
        found.append((f"connect to {scheme}://app:{value}@db.internal:5432/main now", value))
    for kind in ("RSA ", "EC ", "OPENSSH ", ""):
        block = _key_block(kind)
        found.append((f"The key is:\n{block}\nkeep it", block.splitlines()[3]))
    for form in (
        "Authorization: Bearer {}",
        "authorization: Basic {}",
        "X-Api-Key: {}",
        "Cookie: session={}",
        "the password is {}",
        "The password for staging is {}, tell nobody",
        "curl -u deploy:{} https://ci.example.com",
        "mysql -pQ{} app",
        "login --token {}",
        "psql --password={} app",
        "https://hooks.slack.com/services/{}",
    ):
        value = _some(24)
        found.append((form.format(value), value))
    return found[:100]


def look_alikes() -> list[str]:
    """Return a hundred texts with things that look like secrets and are none."""
    png = base64.b64encode(bytes(_chance.randrange(256) for _ in range(300))).decode()
    uuid = "-".join(_some(count, _HEX) for count in (8, 4, 4, 4, 12))
    found = [f"See commit {_some(40, _HEX)} for details." for _ in range(8)]
    found += [f"short sha {_some(7, _HEX)} fixed it" for _ in range(4)]
    found += [f"sha256:{_some(64, _HEX)}  dist.tar.gz" for _ in range(4)]
    found += [f"md5 {_some(32, _HEX)}" for _ in range(3)]
    found += [f"request id {uuid} timed out", f'"id": "{uuid}"', f"/orders/{uuid}/items"]
    found += [f"color: #{_some(6, _HEX)};" for _ in range(5)]
    found += [f"background: url(data:image/png;base64,{png})", f"![x](data:image/png;base64,{png})"]
    found += [f'"integrity": "sha512-{_some(86)}=="', f"etag W/{_some(16, _HEX)}"]
    found += [f"ULID 01J{_some(23, string.ascii_uppercase + string.digits)}" for _ in range(3)]
    found += ["The version is 1.2.3-rc.4+build.20261117", "port 5432 on 10.0.0.12, pid 48213"]
    found += """The password is required.
The password is stored as a hash.
the token is expired, log in again
Passwords must have 12 characters.
password: str
password: Optional[str] = None
def login(user, password):
token = get_token()
token = os.environ["TOKEN"]
API_KEY=${API_KEY}
api_key = settings.api_key
secret: {{ .Values.secret }}
password = "changeme"
DB_PASSWORD=<your password>
API_KEY=YOUR_API_KEY
token: null
"password": true
client_secret=xxxxxxxx
password=********
if password == "":
assert token is not None
Reset your password at https://example.com/reset
The secret to good bread is time.
secret santa is on Friday
tokens: 1800
max_tokens=4096
token_count: 512
key: value
primary_key=True
sort_key = lowest vertex
foreign key (plot) references plots
keyboard: qwerty
The key code comes by mail on the day.
Authorization: Bearer <token>
curl -H "Authorization: Bearer $TOKEN" https://api.example.com
postgresql://localhost:5432/main
postgresql://user@host/name
git@github.com:anthropics/claude-code.git
mailto:ann@example.com
https://example.com/a/b?c=d#e
redis://localhost:6379/0
git clone ssh://git@example.com:2222/repo.git
Use sk-learn for this.
the skip_live_check flag
pk is the primary key
gh pr list --state open
npm_config_cache=/tmp/cache
eyJ is how a web token begins
hf_hub_download("model")
AKIA is the prefix of an access key
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
--token is the option to use
grep -p pattern file
password_hash VARCHAR(100)
secret_name: database-credentials
tokenizer = load_tokenizer("minilm")
The passcode screen is too dark.
pass the bucket to the left
bypass = True
compass: north
secrets are in sops files under ops/secrets
no secret was found
token bucket with 60 requests a minute""".splitlines()
    return found[:100]
