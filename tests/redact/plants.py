"""Planted secrets: made up anew from parts, so that no file holds anything that looks like one."""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from typing import NamedTuple

LETTERS = string.ascii_letters
BASE62 = LETTERS + string.digits
WORDS = BASE62 + "_-"
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
BASE64 = BASE62 + "+/"

Draw = Callable[[str, int], str]


class Plant(NamedTuple):
    """A secret in a text."""

    kind: str
    place: str
    text: str
    secret: str


def drawer(seed: int) -> Draw:
    """Draw characters at random, the same ones for the same seed."""
    source = random.Random(seed)

    def draw(alphabet: str, count: int) -> str:
        while True:
            drawn = "".join(source.choices(alphabet, k=count))
            if count < 8 or (any(map(str.isdigit, drawn)) == any(map(str.isdigit, alphabet)) and drawn[-1].isalnum()):
                return drawn

    return draw


def jwt(draw: Draw) -> str:
    """A JSON Web Token."""
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": draw(string.digits, 10), "iat": 1516239022})
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, draw(WORDS, 43)])


def pem(draw: Draw, label: str = "RSA ") -> str:
    """A private key block."""
    lines = [draw(BASE64, 64) for _ in range(12)] + [draw(BASE64, 20) + "=="]
    return "\n".join([f"-----BEGIN {label}PRIV" + "ATE KEY-----", *lines, f"-----END {label}PRIV" + "ATE KEY-----"])


TOKENS: dict[str, Callable[[Draw], str]] = {
    "github": lambda draw: "gh" + "p_" + draw(BASE62, 36),
    "github app": lambda draw: "gh" + "s_" + draw(BASE62, 36),
    "github fine": lambda draw: "github" + "_pat_" + draw(BASE62, 22) + "_" + draw(BASE62, 59),
    "aws id": lambda draw: "AK" + "IA" + draw(BASE32, 16),
    "anthropic": lambda draw: "sk-" + "ant-api03-" + draw(WORDS, 93) + "AA",
    "anthropic oauth": lambda draw: "sk-" + "ant-oat01-" + draw(WORDS, 86) + "AA",
    "openai": lambda draw: "sk" + "-" + draw(BASE62, 20) + "T3Blbk" + "FJ" + draw(BASE62, 20),
    "openai project": lambda draw: "sk" + "-proj-" + draw(WORDS, 74) + "T3Blbk" + "FJ" + draw(WORDS, 74),
    "openrouter": lambda draw: "sk" + "-or-v1-" + draw(HEX, 64),
    "google": lambda draw: "AI" + "za" + draw(WORDS, 35),
    "google oauth": lambda draw: "GOC" + "SPX-" + draw(BASE62, 28),
    "slack": lambda draw: f"xo{'xb'}-{draw('123456789', 12)}-{draw('123456789', 12)}-{draw(BASE62, 24)}",
    "slack hook": lambda draw: (
        "https://hooks.slack" + f".com/services/T{draw(BASE32, 8)}/B{draw(BASE32, 10)}/{draw(BASE62, 24)}"
    ),
    "stripe": lambda draw: "sk" + "_live_" + draw(BASE62, 24),
    "gitlab": lambda draw: "gl" + "pat-" + draw(BASE62, 20),
    "npm": lambda draw: "np" + "m_" + draw(BASE62, 36),
    "pypi": lambda draw: "py" + "pi-AgEIcHlwaS5vcmc" + draw(WORDS, 150),
    "huggingface": lambda draw: "h" + "f_" + draw(LETTERS, 34),
    "sendgrid": lambda draw: "S" + f"G.{draw(BASE62, 22)}.{draw(BASE62, 43)}",
    "twilio": lambda draw: "S" + "K" + draw(HEX, 32),
    "azure": lambda draw: draw(BASE62, 3) + "8" + "Q~" + draw(BASE62, 34),
    "digitalocean": lambda draw: "do" + "p_v1_" + draw(HEX, 64),
    "telegram": lambda draw: draw("123456789", 10) + ":A" + "A" + draw(WORDS, 33),
    "discord": lambda draw: (
        base64.b64encode(draw("123456789", 18).encode()).decode() + f".{draw(BASE62, 6)}.{draw(BASE62, 38)}"
    ),
    "jwt": jwt,
    "databricks": lambda draw: "da" + "pi" + draw(HEX, 32),
    "docker": lambda draw: "dckr" + "_pat_" + draw(BASE62, 27),
    "groq": lambda draw: "gs" + "k_" + draw(BASE62, 52),
    "shopify": lambda draw: "shp" + "at_" + draw(HEX, 32),
    "vault": lambda draw: "hv" + "s." + draw(BASE62, 90),
}

ANYWHERE: dict[str, str] = {
    "prose": "I used {s} for the deployment, is that fine?",
    "end of a sentence": "The value is {s}.",
    "alone": "{s}",
    "env file": "DEBUG=1\nX_VALUE={s}\nPORT=80\n",
    "YAML": "service:\n  setting: {s}\n  port: 80\n",
    "JSON": '{{"setting": "{s}", "port": 80}}',
    "JSON in a text": '{{\\"setting\\": \\"{s}\\"}}',
    "JSON in JSON in a text": '{{\\\\\\"setting\\\\\\": \\\\\\"{s}\\\\\\"}}',
    "after an escaped line end": "first\\n{s}\\nlast",
    "URL query": "https://api.example.net/v1/items?x={s}&page=2",
    "shell": "curl -s https://api.example.net -H 'X-Thing: {s}' | jq .",
    "Python": 'client = Client("{s}", retries=3)',
    "header": "GET / HTTP/1.1\r\nX-Thing: {s}\r\nHost: a\r\n",
    "file name": "/srv/data/{s}.txt",
    "listing": "     1→first line\n     2→value {s}\n     3→last",
    "diff": "-old value\n+new value {s}\n",
    "colours": "ok \x1b[32m{s}\x1b[0m done",
    "table": "| name | {s} | 12 |",
    "brackets": "[{s}]({s})",
}

PASSWORDS: dict[str, str] = {
    "env": "DB_PASSWORD={s}\n",
    "export": "export API_SECRET='{s}' && run",
    "YAML": "database:\n  password: {s}\n",
    "JSON": '{{"user": "me", "password": "{s}"}}',
    "JSON in a text": '{{\\"clientSecret\\": \\"{s}\\"}}',
    "Python": 'db.connect(host="db", password="{s}")',
    "Python dict": "os.environ['AUTH_TOKEN'] = '{s}'",
    "TypeScript": 'const apiKey: string = "{s}";',
    "Go": 'token := "{s}"',
    "option": "tool deploy --password {s} --fast",
    "option with =": "tool deploy --api-key={s}",
    "URL": "https://deploy:{s}@git.example.net/x.git",
    "database": "postgresql://app:{s}@db.example.net:5432/main",
    "database driver": "mysql+pymysql://app:{s}@db/main",
    "redis": "redis://:{s}@cache:6379/0",
    "bearer": "Authorization: Bearer {s}",
    "XML": "<password>{s}</password>",
    "properties": "spring.datasource.password={s}",
    "INI": "[db]\npassword = {s}\n",
    "curl": "curl -u admin:{s} https://api.example.net/",
    "sshpass": "sshpass -p {s} ssh root@host",
    "mysql": "mysql -h db -u root -p{s} shop",
    "said": "the password is {s} by the way",
    "SQL": "ALTER USER app WITH PASSWORD '{s}';",
    "netrc": "machine git.example.net login me password {s}",
    "setter": 'request.setPassword("{s}")',
    "URL query": "https://api.example.net/?access_token={s}&x=1",
    "npmrc": "//npm.example.net/:_authToken={s}",
}


def password(draw: Draw) -> str:
    """A password as a generator makes them."""
    return draw(LETTERS, 4) + draw(string.digits, 2) + draw(BASE62, 8)


def plants(seed: int = 1, rounds: int = 3) -> Iterator[Plant]:
    """Every token in every place, passwords where they are named, and whole keys."""
    draw = drawer(seed)
    for _ in range(rounds):
        for kind, make in TOKENS.items():
            for place, form in ANYWHERE.items():
                secret = make(draw)
                yield Plant(kind, place, form.format(s=secret), secret.rpartition("services/")[2])
        for place, form in PASSWORDS.items():
            secret = password(draw)
            yield Plant("password", place, form.format(s=secret), secret)
        yield from _pairs(draw)
        yield from _keys(draw)
        yield from _iter_coded_plants(draw)


def _pairs(draw: Draw) -> Iterator[Plant]:
    key, secret = TOKENS["aws id"](draw), draw(BASE64, 40)
    yield Plant(
        "aws secret", "credentials file", f"aws_access_key_id = {key}\naws_secret_access_key = {secret}\n", secret
    )
    yield Plant("aws secret", "CSV", f"Access key,Secret\n{key},{secret}\n", secret)
    account = base64.b64encode(draw(BASE62, 64).encode()).decode()
    yield Plant("azure storage", "connection string", f"AccountName=x;AccountKey={account};Suffix=y", account)
    login = base64.b64encode(f"me:{password(draw)}".encode()).decode()
    yield Plant("basic", "header", f"Authorization: Basic {login}", login)
    yield Plant("basic", "docker config", f'{{"auths": {{"host": {{"auth": "{login}"}}}}}}', login)


def _keys(draw: Draw) -> Iterator[Plant]:
    for label in ("RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED "):
        key = pem(draw, label)
        line = key.split("\n")[3]
        yield Plant("private key", "file", f"key:\n{key}\nend", line)
        yield Plant("private key", "JSON in a text", json.dumps({"key": key}), line)
        numbered = "\n".join(f"{number:6}→{text}" for number, text in enumerate(key.split("\n"), 1))
        yield Plant("private key", "listing", numbered, line)
        yield Plant("private key", "cut off", "\n".join(key.split("\n")[:6]), line)
        quoted = "".join(f'    "{text}\\n" +\n' for text in key.split("\n"))
        yield Plant("private key", "code", quoted, line)


def _iter_coded_plants(draw: Draw) -> Iterator[Plant]:
    for kind in ("github", "anthropic", "stripe"):
        secret = TOKENS[kind](draw)
        coded = base64.b64encode(f"token {secret}\n".encode()).decode()
        yield Plant(kind, "base64", f"data: {coded}", coded)


CLEAN = (
    "password = getpass()",
    "token: string",
    "token: str | None = None",
    "const token = await getToken(user)",
    "password=self.password, token=token",
    "api_key = os.environ['API_KEY']",
    "apiKey: process.env.API_KEY,",
    "API_KEY=your-api-key",
    "API_KEY=<token>",
    "TOKEN=${TOKEN}",
    "TOKEN=$(cat token.txt)",
    "password: {{ vault_password }}",
    "export GITHUB_TOKEN=ghp_" + "x" * 36,
    "sk-ant-" + "api03-your-key-here-replace-it",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "commit 3f2a9c81d4e5b6a7980123456789abcdef012345",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "id 3c9d5a8e-21bb-4f7a-9d55-0d6f0a1b2c3d",
    "max_tokens: 4096, input_tokens=123456",
    "token_type: bearer",
    "the password must be at least 8 characters",
    "Forgot password? Reset it here.",
    "tokenizer = AutoTokenizer.from_pretrained('bert-base-uncased')",
    "passwordHash: bcrypt.hash(password, 10)",
    '<input type="password" name="password" id="password1">',
    "postgres://postgres:postgres@localhost:5432/app",
    "https://user:password@example.com/",
    "https://github.com/org/repo/blob/main/src/very/long/path/to/some/file.py",
    "git@github.com:org/repo.git",
    "import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'",
    "SecretRef: my-secret-name",
    "secretName: web-tls-certificate",
    "token = tokens[i]",
    "if token == 'EOF':",
    "Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Basic usage of the tool",
    "basic authentication123 is described below",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA\n-----END PUBLIC KEY-----",
    "if '-----BEGIN PRIV" + "ATE KEY-----' in text:",
    "password: Optional[SecretStr] = Field(default=None)",
    "def check(password: str, token: str) -> bool:",
    "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL req_018EeWyXxfu5pfWkrYcMdjWG",
    "claude-sonnet-4-5-20250929",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    '"access_token_expires_in": 3600, "refresh_token_url": "https://a.example/oauth"',
    "password123_field = forms.CharField()",
    "the token is invalid",
    "the secret is out",
    "your password was changed",
    "Token usage: 1234/200000; 198766 remaining",
    "key-value, key-points, api-key-authentication-overview",
    "risk-assessment-of-the-long-term-strategy-2024-report",
    "task-0123-implement-the-new-feature-branch-for-users",
    "PASSWORD=changeme",
    "--password-stdin --token-file /run/secrets/token",
    "credentials: include",
    "auth: true, auth = Auth()",
    "secret_key_base: <%= ENV['SECRET_KEY_BASE'] %>",
)
"""Texts that look like secrets and hold none; each may be one false alarm."""
