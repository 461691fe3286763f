"""Secrets that a header, a heading or a sentence names are found; texts of the same shape stay."""

from __future__ import annotations

import json

import pytest

from turnlog.redact.redactor import Redactor

PASSWORD = "vT6-harbour"
TABLES = (
    f"host,user,password\nsw1,adm,{PASSWORD}",
    f"host;user;Passwort\nsw1;adm;{PASSWORD}",
    f"name\tpassword\nadm\t{PASSWORD}",
    f"| host | password |\n|---|---|\n| sw1 | `{PASSWORD}` |",
    f" id | password \n----+----------\n  1 | {PASSWORD}\n(1 row)",
    f"USER      PASSWORD      HOST\nadm       {PASSWORD}   sw1",
    f"INSERT INTO users (name, password) VALUES ('ada', 'x'), ('adm', '{PASSWORD}');",
    f"COPY users (id, password) FROM stdin;\n1\t{PASSWORD}\n\\.",
)
PROSE = (
    f"Das Passwort für den Drucker lautet: {PASSWORD} (nicht ändern)",
    f"Das WLAN-Kennwort ist {PASSWORD}",
    f"Le mot de passe du wifi est {PASSWORD}.",
    f"La contraseña del router es {PASSWORD}",
    f"La password del NAS è {PASSWORD}",
    f"A senha do wifi é {PASSWORD}",
    f"Het wachtwoord van de router is {PASSWORD}",
    f"I changed the password to {PASSWORD}",
    f'ConvertTo-SecureString -AsPlainText -Force -String "{PASSWORD}"',
    f"'{PASSWORD}' | ConvertTo-SecureString -AsPlainText",
    f'[Net.NetworkCredential]::new("adm", "{PASSWORD}")',
)
WORDS = (
    "coil venue cloth giant tragic double timber keen hurt brain pledge steel fiction undo anger father rifle churn"
    " ticket attitude caught arrange unfair cupboard"
).split()
HARMLESS = (
    "user,password,notes\nada,required,none",
    "| Option | Password | Since |\n|---|---|---|\n| login | minimum length | 2.0 |",
    "12\tpassword\n13\trelease-2024-05-01",
    "def login(host,\n    user, password, port,\n    a, b1-c2-d3, e):",
    "seed: 42\nthe quick fox jumps over the lazy dog and runs from your house today again",
    "The mnemonic: add and dec inc jmp mov mul not pop push ret sub",
    "Recovery codes are shown once; print them.",
    "Error codes:\n  40412-x1\n  50312-x2",
    "The password for the demo account is required.",
    "Die Passphrase ist „sehr wichtig für alle“.",
    '{"kty": "EC", "crv": "P-256", "x": "aUqdHDk3f8ugAyTiL3dV_tvrwAIGPqlZRGRMu0Pc8Uk"}',
    "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----",
)


@pytest.mark.parametrize("text", [*TABLES, *PROSE])
def test_a_password_is_found_below_its_header_and_in_its_sentence(text: str) -> None:
    assert PASSWORD not in Redactor().redact_text(text)


@pytest.mark.parametrize("text", TABLES)
def test_a_table_in_json_in_a_text_is_read_too(text: str) -> None:
    assert PASSWORD not in Redactor().redact_text(json.dumps({"stdout": text}))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_has_the_shape_of_a_list_of_secrets_stays(text: str) -> None:
    assert Redactor().redact_text(text) == text


@pytest.mark.parametrize("size", [12, 15, 18, 21, 24])
@pytest.mark.parametrize("joint", [" ", ", ", "\n- ", "\n1. "])
def test_the_words_of_a_wallet_are_found_below_their_heading(size: int, joint: str) -> None:
    redacted = Redactor().redact_text("The recovery phrase of the wallet:\n\n" + joint.join(WORDS[:size]))
    assert not any(word in redacted for word in WORDS[1:size])


@pytest.mark.parametrize(
    "heading", ["Backup codes:", "Wiederherstellungscodes:", "codes de secours :", "## Recovery codes"]
)
def test_codes_for_a_second_factor_are_found_below_their_heading(heading: str) -> None:
    assert Redactor().redact_text(f"{heading}\n- fk21i-n91j4\n- 83920174\n") == (
        f"{heading}\n- [secret:recovery-code:1]\n- [secret:recovery-code:2]\n"
    )


@pytest.mark.parametrize("name", ["d", "p", "q", "dp", "dq", "qi", "k"])
def test_the_private_parts_of_a_json_web_key_are_found_in_texts_and_objects(name: str) -> None:
    key = {"kty": "RSA", "kid": "mill", name: "ZOfST_7t7oLfNlqVFhzbj9HjNYewDnHw0iU8_2EQoig"}
    assert key[name] not in Redactor().redact_text(json.dumps(key))
    assert Redactor().redact_value(key)[name] == "[secret:key:1]"


@pytest.mark.parametrize("name", ["AUTH_KEY", "SECURE_AUTH_SALT", "LOGGED_IN_KEY", "NONCE_SALT"])
def test_keys_of_frameworks_may_hold_any_sign(name: str) -> None:
    key = "o|>:Cx>0E>S.rUkm_M4SWA,wNg6ig-f@v14A01K2XwUS6{{kUzWMI2 rmsionhV"
    assert key not in Redactor().redact_text(f"define( '{name}',    '{key}' );\n/* AUTH_KEY and its like */")
    assert key[:9] not in Redactor().redact_text(f'SECRET_KEY = "django-insecure-{key}"')
