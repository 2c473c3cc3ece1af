"""Forms of secrets and their look-alikes, filled with random characters by `filled`.

`{h32}` is 32 hexadecimal digits. The letters: h hex, H capital hex, a letters and digits, u
capitals and digits, l small letters and digits, w letters, digits, _ and -, b base64, d digits, p a
password; `{U}` is a UUID. The secret is between « and », or it is the whole form. ⏎ is a new line.
The forms were written down before the rules of `hades/hooks/redact.py` were looked at.
"""

from __future__ import annotations

import random
import re
import string
import uuid

_chance = random.Random(53)
_ALNUM = string.ascii_letters + string.digits
_LETTERS = {
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "a": _ALNUM,
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "w": f"{_ALNUM}_-",
    "b": f"{_ALNUM}+/",
    "d": string.digits,
    "p": f"{_ALNUM}!#*._-",
}


def filled(form: str) -> str:
    """Return a form with random characters in its places."""
    form = re.sub(r"\{([a-zA-Z])(\d+)\}|\{U\}", _random, form)
    return form.replace("{{", "{").replace("}}", "}").replace("⏎", "\n")


def _random(place: re.Match[str]) -> str:
    if place[0] == "{U}":
        return str(uuid.UUID(int=_chance.getrandbits(128)))
    letters = _LETTERS[place[1]]
    count = int(place[2])
    if place[1] not in "pwb":
        return "".join(_chance.choices(letters, k=count))
    # A sign at either end would belong to the sentence around it, and a password has a digit.
    middle = "".join(_chance.choices(letters, k=count - 3))
    return f"{_chance.choice(string.ascii_letters)}7{middle}{_chance.choice(string.digits)}"


def secrets() -> list[tuple[str, str, list[str]]]:
    """Return the name, a text and the secret values of each form."""
    found = []
    for table, sentence in ((BARE, "then I ran it with {} and it worked"), (PLACED, "{}")):
        for line in table.strip().splitlines():
            name, form = line.split("|", 1)
            text = filled(form)
            values = re.findall("«(.*?)»", text) or [text]
            text = re.sub("[«»]", "", text)
            found.append((name, sentence.replace("{}", text), values))
    return found


def look_alikes() -> list[str]:
    """Return texts with hashes, ids, placeholders and code that are no secrets."""
    return [filled(form) for form in LOOK_ALIKES.strip().splitlines()]


BARE = """
gitlab runner|glrt-{w20}
gitlab deploy|gldt-{w20}
gitlab trigger|glptt-{h40}
gitlab feed|glft-{w20}
gitlab ci job|glcbt-{h2}_{w20}
gitlab agent|glagent-{w50}
gitlab incoming mail|glimt-{a25}
gitlab scim|glsoat-{w20}
gitlab feature flags|glffct-{w20}
gitlab runner registration|GR1348941{w20}
databricks|dapi{h32}
google oauth client|GOCSPX-{w28}
google access token|ya29.{w120}
google refresh token|1//0{w60}
sentry org|sntrys_eyJ{a120}_{b43}
sentry user|sntryu_{h64}
xai|xai-{a80}
perplexity|pplx-{a48}
pinecone|pcsk_{a6}_{a64}
figma|figd_{w40}
heroku|HRKU-AA{w58}
heroku uuid|HRKU-{U}
groq|gsk_{a52}
replicate|r8_{a37}
hugging face|hf_{a34}
hugging face org|api_org_{a34}
openai project|sk-proj-{w74}T3BlbkFJ{w74}
openai service|sk-svcacct-{w58}T3BlbkFJ{w58}
openai admin|sk-admin-{w58}T3BlbkFJ{w58}
anthropic|sk-ant-api03-{w93}AA
anthropic admin|sk-ant-admin01-{w93}AA
openrouter|sk-or-v1-{h64}
langsmith|lsv2_pt_{h32}_{h10}
langfuse|sk-lf-{U}
tavily|tvly-dev-{a32}
jina|jina_{h32}{a28}
nvidia|nvapi-{w64}
together|tgp_v1_{w43}
fireworks|fw_{a24}
cerebras|csk-{l48}
linear|lin_api_{a40}
linear oauth|lin_oauth_{h64}
notion new|ntn_{d11}{a35}
notion old|secret_{a43}
airtable|pat{a14}.{h64}
atlassian|ATATT3xFfGF0{w180}={H8}
atlassian connect|ATCTT3xFfGF0{w160}={H8}
bitbucket|ATBB{a32}
dropbox|sl.B{w130}
dropbox user|sl.u.A{w130}
digitalocean|dop_v1_{h64}
digitalocean refresh|dor_v1_{h64}
doppler|dp.pt.{a43}
doppler service|dp.st.prod.{a43}
fly|fo1_{w43}
fly macaroon|fm2_{b200}
netlify|nfp_{a36}
render|rnd_{a28}
supabase|sbp_{h40}
supabase secret|sb_secret_{w22}_{w8}
planetscale|pscale_tkn_{w43}
planetscale password|pscale_pw_{w43}
neon|napi_{l64}
vault service|hvs.{w90}
vault batch|hvb.{w140}
terraform cloud|{a14}.atlasv1.{w64}
grafana service|glsa_{a32}_{h8}
grafana cloud|glc_eyJ{a100}
new relic user|NRAK-{u27}
new relic insight|NRII-{w32}
new relic browser|NRJS-{h19}
dynatrace|dt0c01.{u24}.{u64}
pulumi|pul-{h40}
pypi|pypi-AgEIcHlwaS5vcmc{w120}
npm|npm_{a36}
rubygems|rubygems_{h48}
crates|cio{a32}
nuget|oy2{l43}
docker hub|dckr_pat_{w27}
docker org|dckr_oat_{w32}
jfrog|AKCp{a69}
postman|PMAK-{h24}-{h34}
prefect|pnu_{l36}
shopify|shpat_{h32}
shopify shared|shpss_{h32}
stripe|sk_live_{a24}
stripe restricted|rk_live_{a99}
stripe webhook|whsec_{a32}
square|sq0atp-{w22}
square secret|sq0csp-{w43}
square new|EAAA{w60}
twilio|SK{h32}
sendgrid|SG.{w22}.{w43}
mailgun|key-{h32}
mailchimp|{h32}-us14
brevo|xkeysib-{h64}-{a16}
slack bot|xoxb-{d12}-{d12}-{a24}
slack app|xapp-1-A{u10}-{d13}-{h64}
slack config|xoxe.xoxp-1-{a160}
slack hook|https://hooks.slack.com/services/T{u8}/B{u10}/«{a24}»
discord hook|https://discord.com/api/webhooks/{d18}/«{w68}»
teams hook|https://acme.webhook.office.com/webhookb2/{U}@{U}/IncomingWebhook/«{h32}»/{U}
telegram bot|{d10}:AA{w33}
azure ad|{a3}8Q~{w34}
azure devops|{a76}AZDO{a4}
azure storage|{b76}+ASt{b6}==
aws key|AKIA{u16}
aws bedrock|ABSK{b109}=
alibaba|LTAI{a20}
tencent|AKID{a32}
yandex iam|t1.9eu{w80}.{w86}
yandex api|AQVN{w36}
cloudflare origin|v1.0-{h24}-{h146}
adobe|p8e-{a32}
age|AGE-SECRET-KEY-1{u58}
clojars|CLOJARS_{l60}
contentful|CFPAT-{w43}
duffel|duffel_live_{w43}
easypost|EZAK{a54}
facebook|EAAM{a120}
flutterwave|FLWSECK_LIVE-{h32}-X
frame.io|fio-u-{w64}
gcp|AIza{w35}
github|ghp_{a36}
github fine|github_pat_{a22}_{a59}
intra42|s-s4t2ud-{h64}
1password service|ops_eyJ{b250}
1password secret key|A3-{u6}-{u11}-{u5}-{u5}-{u5}
openshift|sha256~{w43}
readme|rdme_{l70}
scalingo|tk-us-{w48}
settlemint|sm_aat_{a16}
shippo|shippo_live_{h40}
sonar user|squ_{h40}
sonar project|sqp_{h40}
sourcegraph|sgp_{h16}_{h40}
typeform|tfp_{w59}
plaid|access-production-{U}
buildkite|bkua_{h40}
circleci|CCIPAT_{a22}_{h40}
posthog|phx_{a43}
mapbox|sk.eyJ{a80}.{w22}
resend|re_{a8}_{a24}
tailscale|tskey-auth-{a12}CNTRL-{a32}
tailscale api|tskey-api-{a12}CNTRL-{a32}
hubspot|pat-na1-{U}
atlas service account|mdb_sa_sk_{w40}
cockroach|CCDB1_{a22}_{a40}
kaggle|KGAT_{h32}
wandb|wandb_v1_{a77}
thunderstore|tss_{a40}
octopus|API-{u26}
infracost|ico-{a32}
harness|pat.{w22}.{h24}.{a20}
microsoft teams bot jwt|eyJ{a40}.eyJ{a80}.{w43}
defined networking|dnkey-{w26}-{w52}
maxmind|{a6}_{a29}_mmk
heroku cloud agent|inf-{U}
sidekiq url|https://{h8}:«{h8}»@gems.contribsys.com/
polar|polar_oat_{a43}
val town|vtwn_{a40}
endor|endr+{a16}
github app install|ghs_{a36}
artifactory reference|cmVmd{a59}
asana|2/{d16}/{d16}:{h32}
"""
"""Keys without a word around them that says so."""

PLACED = r"""
dotenv with a dollar|DB_PASSWORD=«$tr0ng{p10}!x»
dotenv with a percent|DB_PASSWORD=«%{p14}»
dotenv with a brace|DB_PASSWORD=«{{{p14}»
dotenv with a bracket|DB_PASSWORD=«[{p14}»
dotenv with less than|DB_PASSWORD=«<{p14}»
escaped json|{{\"user\":\"bob\",\"password\":\"«{p14}»\"}}
twice escaped json|\\\"client_secret\\\": \\\"«{p20}»\\\"
yaml block|db:⏎  password: |⏎    «{p14}»⏎  port: 5432
yaml folded|db:⏎  password: >-⏎    «{p14}»⏎  port: 5432
xml element|<user>bob</user><password>«{p14}»</password>
xml element spaced|<ApiKey>⏎  «{a24}»⏎</ApiKey>
xml attribute|<connection user="bob" password="«{p14}»"/>
xml key value|<add key="ApiKey" value="«{a24}»" />
sql identified|CREATE USER app IDENTIFIED BY '«{p14}»';
sql with password|ALTER ROLE app WITH LOGIN PASSWORD '«{p14}»';
sql identified with plugin|ALTER USER 'app'@'%' IDENTIFIED WITH mysql_native_password BY '«{p14}»';
sql set password|SET PASSWORD FOR 'app'@'%' = '«{p14}»';
environ index|os.environ['X_TOKEN']='«{a24}»'
environ double|os.environ["PAYMENT_SECRET"] = "«{p20}»"
environ js|process.env.API_TOKEN = '«{a24}»'
environ js index|process.env["API_TOKEN"] = "«{a24}»"
ruby environ|ENV['SECRET_TOKEN'] = '«{a24}»'
setdefault|os.environ.setdefault("API_KEY", "«{a24}»")
netrc|machine api.example.org login bob password «{p14}»
netrc lines|machine api.example.org⏎  login bob⏎  password «{p14}»
yaml env list|- name: DB_PASSWORD⏎  value: «{p14}»
json env list|{{"name": "DB_PASSWORD", "value": "«{p14}»"}}
php define|define('DB_PASSWORD', '«{p14}»');
ruby hash|:password => '«{p14}»',
go field|Password: "«{p14}»",
java property|spring.datasource.password=«{p14}»
java setter|dataSource.setPassword("«{p14}»");
python keyword|connect(host="db", password='«{p14}»')
connection string|Server=db;Database=app;Uid=sa;Pwd=«{p14}»;
azure connection|AccountName=acme;AccountKey=«{b86}==»;EndpointSuffix=core
sas|https://acme.blob.core.windows.net/c?sv=2024&sig=«{a43}%3D»
url password|amqp://bob:«{a14}»@mq.internal:5672/
url query|https://api.example.org/v1?api_key=«{a24}»&page=2
bearer|Authorization: Bearer «{w40}»
basic|Authorization: Basic «{b24}»
token header|Authorization: token «{h40}»
own header|X-Api-Key: «{a24}»
curl user|curl -u bob:«{p14}» https://api.example.org
curl header|curl -H 'X-Auth-Token: «{a24}»' https://api.example.org
option|tool login --password «{p14}»
option equals|tool login --api-key=«{a24}»
sshpass|sshpass -p «{p14}» ssh bob@host
mysql|mysql -u root -p«{p14}» app
redis|redis-cli -h cache -a «{p14}» ping
redis conf|requirepass «{p14}»
docker login|docker login -u bob -p «{p14}»
docker env|ENV API_KEY «{a24}»
powershell|ConvertTo-SecureString "«{p14}»" -AsPlainText -Force
powershell env|$env:API_TOKEN = "«{a24}»"
setx|setx API_TOKEN «{a24}»
npmrc|//registry.npmjs.org/:_authToken=«{U}»
npmrc old|_auth=«{b40}==»
pypirc|[pypi]⏎username = bob⏎password = «{p14}»
pgpass|db.internal:5432:app:bob:«{p14}»
aws configure|aws configure set aws_secret_access_key «{b40}»
aws file|aws_secret_access_key = «{b40}»
django|SECRET_KEY = '«{p50}»'
k8s literal|kubectl create secret generic db --from-literal=password=«{p14}»
k8s data|kind: Secret⏎data:⏎  password: «{b24}==»
wireguard|PrivateKey = «{b43}=»
wifi|psk="«{p14}»"
ansible|ansible_become_pass: «{p14}»
terraform|secret_key = "«{b40}»"
openssl|openssl rsa -passin pass:«{p14}» -in key.pem
gpg|gpg --batch --passphrase «{p14}» -c file
htpasswd|htpasswd -b .htpasswd bob «{p14}»
cookie|Cookie: sessionid=«{l32}»; theme=dark
prose|the password is «{p14}»
prose german|Das Passwort lautet «{p14}»
passphrase prose|My passphrase: «{p14}»
vault login|vault login «{w24}»
gh secret|gh secret set API_TOKEN --body «{a24}»
heroku config|heroku config:set STRIPE_KEY=«{a24}»
toml dotted|registry.token = "«{a24}»"
tuple|("password", "«{p14}»")
header tuple|headers={{"Authorization": "Bearer «{w40}»"}}
maven|<server><id>nexus</id><username>bob</username><password>«{p14}»</password></server>
pem|-----BEGIN PRIVATE KEY-----⏎«{b64}»⏎«{b64}»⏎-----END PRIVATE KEY-----
pem escaped|"private_key": "-----BEGIN PRIVATE KEY-----\n«{b64}»\n-----END PRIVATE KEY-----\n"
putty|PuTTY-User-Key-File-3: ssh-ed25519⏎Private-Lines: 1⏎«{b64}»⏎Private-MAC: {h64}
pgp|-----BEGIN PGP PRIVATE KEY BLOCK-----⏎⏎«{b64}»⏎-----END PGP PRIVATE KEY BLOCK-----
"""
"""Secrets whose place says what they are."""

LOOK_ALIKES = r"""
commit {h40}
commit {h40} (HEAD -> main, tag: v1.4.0)
index {h7}..{h7} 100644
Merge: {h7} {h7}
git rev-parse HEAD printed {h40}
git show {h12}:hades/project.py
sha256:{h64}
sha512-{b86}==
"integrity": "sha512-{b86}=="
"resolved": "https://registry.npmjs.org/left-pad/-/left-pad-1.3.0.tgz#{h40}"
h1:{b43}=
github.com/pkg/errors v0.9.1 h1:{b43}=
--hash=sha256:{h64}
checksum = "{h64}"
image: nginx@sha256:{h64}
ETag: "{h32}"
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b400}
data:image/jpeg;base64,/9j/4AAQSkZJRgABAQ{b400}
<img src="data:image/gif;base64,R0lGODlh{b400}">
url(data:font/woff2;base64,d09GMgABAAAA{b400})
{U}
id: {U}
"requestId": "{U}"
/v1/orders/{U}/lines
session {U} ended
trace_id={h32} span_id={h16}
traceparent: 00-{h32}-{h16}-01
DE{d20}
IBAN: DE{d20}
GB{d2}NWBK{d14}
ISBN 978-3-16-148410-0
isbn: 9780131103627
DOI 10.1145/3292500.3330701
+49 30 {d8}
call 0800-{d7}
MAC 3c:22:fb:{h2}:{h2}:{h2}
2001:db8:85a3::8a2e:370:7334
arn:aws:iam::{d12}:role/deploy
arn:aws:s3:::acme-backups/2026/11
i-{h17} is the instance
vpc-{h17}, subnet-{h17}
projects/acme-{d6}/locations/europe-west1
ami-{h17}
pod web-{h10}-{l5} restarted
pod/api-7d9f8b6c5d-x2x4z
0x{h40}
tx 0x{h64}
block {d8}
ULID 01J{u23}
nanoid V1StGXR8_Z5jdHi6B-myT
v2.0.0-alpha.{d3}+{h7}
build {d14}
1.{d3}.{d4}
password = getpass()
password = getpass.getpass("Password: ")
password = input("password? ")
password = prompt_for_password(user)
password=$PASSWORD
password=$password
PASSWORD=${{PASSWORD:-}}
DB_PASSWORD=${{DB_PASSWORD:?missing}}
export API_KEY=$(pass show api/key)
export PATH=$HOME/bin:$PATH
export TOKEN="$HOME"
token=$1
token: ${{{{ secrets.GITHUB_TOKEN }}}}
token: $(github.token)
secret: {{{{ vault_secret }}}}
password: {{{{ lookup('env', 'DB_PASSWORD') }}}}
password: "%s"
password=%s
password=%(password)s
set PASSWORD=%DB_PASSWORD%
"password": "{{password}}"
password: {{name}}
api_key=<your-key>
API_KEY=<YOUR_API_KEY>
api_key: <api key here>
api_key = [your key]
password: [hidden]
token: [REDACTED]
tokens = [1, 2, 3]
secrets: []
credentials: {{}}
credentials: {{
password: !vault |
password: *default
password: &anchor
secretKeyRef: {{name: db, key: password}}
<password></password>
<password>${{db.password}}</password>
<password/>
<label for="password">Password</label>
<input type="password" name="password" placeholder="Password">
<th>token</th><td>count</td>
IDENTIFIED BY '<password>'
CREATE USER app IDENTIFIED BY '%s'
ALTER TABLE users ADD COLUMN password varchar(200)
SELECT password FROM users WHERE id = 7
os.environ["X_TOKEN"]
os.environ['X_TOKEN'] = token
os.environ.get("API_KEY", "")
os.getenv("API_KEY", "missing")
process.env.API_TOKEN ?? ""
fields = ["password", "email", "created_at"]
("username", "password", "remember me")
columns: id, token, secret, created_at
login bob, password forgotten
machine learning login page password rules
the login and the password are the same as in LDAP
- name: DB_PASSWORD⏎  valueFrom:⏎    secretKeyRef:
{{"name": "DB_PASSWORD", "value": "${{DB_PASSWORD}}"}}
ENV PATH /usr/local/bin
ARG TOKEN
docker login -u bob --password-stdin
sshpass -e ssh bob@host
mysql -u root -p app
redis-cli -h cache ping
vault login -method=oidc
vault login is needed first
htpasswd -c .htpasswd bob
git push origin sk-rename-the-sessions-table
.sk-navigation-bar-with-long-name {{ color: red }}
fw_update_all_of_the_things()
re_compile_every_pattern_of_the_package
xai-grok-documentation
pa-system-for-the-large-hall-in-the-old-building
pat-na1-is-the-prefix
key-value-store
API-FIRST
the glrt- prefix is for runners
hvs.example
dp.st.prod
SG.com
CACHE_KEY=user:profile:42
PRIMARY_KEY = "order_id, line_number"
SORT_KEY=created_at
PARTITION_KEY=customer_2024_invoices
Das Passwort ist falsch.
Das Passwort lautet anders als gestern
The token was refused by the server
the pin is bent
db.internal:5432:app
app.py:12:5: error: unused import
src/main.c:54:10:warning:unused
https://host/path?sig=short
https://host/x?signature_version=4
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} bob@host
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b200} bob@host
-----BEGIN CERTIFICATE REQUEST-----
-----BEGIN PGP SIGNATURE-----
"""
