"""Marks are the same for the same secret, in texts, values and files of one session; the report never tells it."""

from __future__ import annotations

import base64
import json

import pytest

from tests.redact.plants import BASE64, TOKENS, drawer, password, pem
from turnlog.redact.redaction_report import RuleCount
from turnlog.redact.redactor import Redactor
from turnlog.redact.rules import SecretRules
from turnlog.redact.secret_ledger import SecretLedger
from turnlog.redact.secret_rule import FindingRank, SecretFinding

DRAW = drawer(7)
ONE, TWO = TOKENS["github"](DRAW), TOKENS["github"](DRAW)
KEY = pem(DRAW)
PASSWORD = password(DRAW)


def test_the_same_secret_has_the_same_number_everywhere() -> None:
    redactor = Redactor()
    assert redactor.redact_text(f"{ONE} {TWO}") == "[secret:github:1] [secret:github:2]"
    assert redactor.redact_value({"a": [TWO, ONE]}) == {"a": ["[secret:github:2]", "[secret:github:1]"]}
    assert redactor.redact_file_data(f"x {TWO}\n".encode()) == b"x [secret:github:2]\n"


def test_another_redactor_counts_for_itself() -> None:
    assert Redactor().redact_text(TWO) == "[secret:github:1]"


def test_a_secret_that_a_rule_found_once_goes_wherever_it_stands() -> None:
    redactor = Redactor()
    redactor.learn_secrets(f"DB_PASSWORD={PASSWORD}")
    assert redactor.redact_text(f"it said {PASSWORD}!") == "it said [secret:password:1]!"
    assert redactor.redact_text(f"x{PASSWORD}y") == "x[secret:password:1]y"


def test_a_secret_is_known_in_other_spellings() -> None:
    redactor = Redactor()
    redactor.learn_secrets({"password": 'a/b"c1&dé'})
    assert redactor.redact_text("?q=a%2Fb%22c1%26d%C3%A9") == "?q=[secret:password:1]"
    assert redactor.redact_text(json.dumps('a/b"c1&dé')) == '"[secret:password:1]"'
    assert redactor.redact_text(json.dumps(json.dumps('a/b"c1&dé'))) == '"\\"[secret:password:1]\\""'


def test_a_plain_word_is_replaced_only_where_it_is_named() -> None:
    redactor = Redactor()
    assert redactor.redact_text('password="sunshine" and sunshine') == 'password="[secret:password:1]" and sunshine'


@pytest.mark.parametrize(
    "word", ["tulip!garden", "sunshine!", "user@host", "tulip garden behind the house", "été#soleil"]
)
def test_a_secret_of_letters_and_one_mark_goes_wherever_it_stands_alone(word: str) -> None:
    redactor = Redactor()
    redactor.learn_secrets(f"export DB_PASSWORD='{word}'")
    shown = redactor.redact_text(f"first ({word}), /srv/{word}/x-{word} and a{word} {word}b")
    mark = "[secret:password:1]"
    assert shown == f"first ({mark}), /srv/{mark}/x-{mark} and a{word} {word}b"


def test_a_secret_like_a_name_is_left_in_a_longer_name() -> None:
    ledger = SecretLedger()
    ledger.assign_mark(SecretFinding(0, 12, "password", FindingRank.ASSIGNMENT, "Tulip-Garden"))
    shown = Redactor(ledger=ledger).redact_text("Tulip-Garden my-Tulip-Garden-server Tulip-Garden_2")
    assert shown == "[secret:password:1] my-Tulip-Garden-server Tulip-Garden_2"


def test_a_short_secret_is_replaced_only_where_it_stands_alone() -> None:
    redactor = Redactor()
    redactor.learn_secrets("DB_PASSWORD=q7bu2ksw")
    assert redactor.redact_text("q7bu2ksw xq7bu2ksw") == "[secret:password:1] xq7bu2ksw"


def test_a_first_pass_finds_what_stands_bare_before_it_is_named() -> None:
    redactor = Redactor()
    texts = [f"bare {PASSWORD}", f"password: {PASSWORD}"]
    first = redactor.make_rehearsal()
    for text in texts:
        first.redact_text(text)
    assert [redactor.redact_text(text) for text in texts] == [
        "bare [secret:password:1]",
        "password: [secret:password:1]",
    ]
    assert redactor.build_report().replacement_count == 2


def test_a_secret_that_escapes_cut_is_one() -> None:
    redactor = Redactor()
    assert redactor.redact_text(f"\x1b[1m{ONE[:9]}\x1b[31m{ONE[9:]}\x1b[0m") == "\x1b[1m[secret:github:1]\x1b[0m"
    assert redactor.redact_text(f"{ONE[:9]}\\u001b[31m{ONE[9:]} x") == "[secret:github:1] x"
    assert redactor.redact_text(f"{ONE[:9]}\u200b{ONE[9:]}") == "[secret:github:1]"


def test_a_private_key_is_one_secret_in_every_spelling() -> None:
    redactor = Redactor()
    assert redactor.redact_text(f"a\n{KEY}\nb") == "a\n[secret:private-key:1]\nb"
    assert json.loads(redactor.redact_text(json.dumps({"k": KEY}))) == {"k": "[secret:private-key:1]"}
    assert redactor.redact_text("head " + KEY.split("\n")[4]) == "head [secret:private-key:1]"


def test_a_private_key_that_is_cut_off_goes_as_far_as_its_lines() -> None:
    cut = "\n".join(KEY.split("\n")[:4])
    assert Redactor().redact_text(f"{cut}\n\n[output truncated]") == "[secret:private-key:1]\n\n[output truncated]"


def test_a_private_key_does_not_swallow_what_stands_between_two_strings() -> None:
    begin, *_, end = KEY.split("\n")
    value = {"a": f"{begin}\n{KEY.split(chr(10))[2]}", "b": {"x": f"no {end}"}}
    assert json.loads(Redactor().redact_text(json.dumps(value))) == {
        "a": "[secret:private-key:1]",
        "b": {"x": f"no {end}"},
    }


def test_base64_of_a_secret_goes_as_a_whole() -> None:
    coded = base64.b64encode(f"login with {ONE}".encode()).decode()
    twice = base64.b64encode(f"see {coded}".encode()).decode()
    redactor = Redactor()
    assert redactor.redact_text(f"data: {coded}; {ONE}") == "data: [secret:github:1]; [secret:github:1]"
    assert redactor.redact_text(twice) == "[secret:github:1]"
    assert redactor.redact_text(base64.urlsafe_b64encode(f"???{ONE}".encode()).decode()) == "[secret:github:1]"


def test_base64_of_a_picture_stays() -> None:
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4).decode()
    hidden = picture[:600] + "/AK" + "IA" + "QWERTYASDFGHZXCV" + "/" + picture[600:]
    assert Redactor().redact_value({"source": {"type": "base64", "data": hidden}}) == {
        "source": {"type": "base64", "data": hidden}
    }


def test_keys_of_objects_are_texts_too() -> None:
    redactor = Redactor()
    value = {f"/srv/{ONE}.txt": 1, f"/srv/{ONE[:5]}\u200b{ONE[5:]}.txt": 2}
    assert redactor.redact_value(value) == {"/srv/[secret:github:1].txt": 1, "/srv/[secret:github:1].txt~2": 2}


def test_a_value_is_a_secret_when_its_key_says_so() -> None:
    redactor = Redactor()
    assert redactor.redact_value({"env": {"DB_PASSWORD": "hunter22", "PORT": "80"}}) == {
        "env": {"DB_PASSWORD": "[secret:password:1]", "PORT": "80"}
    }
    assert redactor.redact_value([{"name": "API_KEY", "value": "k3jd8sjq2"}]) == [
        {"name": "API_KEY", "value": "[secret:key:1]"}
    ]
    assert redactor.redact_value(["tool", "--token", "k3jd8sjq9"]) == ["tool", "--token", "[secret:token:1]"]
    assert redactor.redact_value({"token": "string", "max_tokens": 12}) == {"token": "string", "max_tokens": 12}


def test_marks_of_an_earlier_redaction_keep_their_numbers() -> None:
    redactor = Redactor()
    assert redactor.redact_text(f"[secret:github:4] {ONE}") == "[secret:github:4] [secret:github:5]"


def test_a_mark_is_no_secret() -> None:
    text = 'password="[secret:password:3]" https://me:[secret:url-password:1]@h secret:[secret:github:1]'
    assert Redactor(SecretRules(emails=True, homes=True)).redact_text(text) == text


def test_in_binary_files_secrets_become_asterisks_and_all_other_bytes_stay() -> None:
    redactor = Redactor()
    hidden = b"*" * len(ONE)
    assert redactor.redact_file_data(b"\x7fELF\0" + ONE.encode()) == b"\x7fELF\0" + hidden
    wide = ONE.encode("utf-16-le")
    assert redactor.redact_file_data(b"\xff\0\x01" + wide + b"\x02") == b"\xff\0\x01" + b"*\0" * len(ONE) + b"\x02"
    assert redactor.redact_file_data(b"\0\x80no secret here\xff") == b"\0\x80no secret here\xff"
    assert redactor.redact_file_data(b"\xff\xfe" + b"\x00\xd8") == b"\xff\xfe\x00\xd8"
    assert redactor.redact_file_data(b"caf\xe9 " + ONE.encode() + b"\r\n") == b"caf\xe9 [secret:github:1]\r\n"
    assert redactor.redact_file_data(f"x {ONE}".encode("utf-16")) == "x [secret:github:1]".encode("utf-16")
    assert redactor.redact_file_data(f"x {ONE}") == "x [secret:github:1]"


def test_the_report_counts_by_rule_and_place() -> None:
    redactor = Redactor()
    redactor.redact_text(f"{ONE} {ONE} {TWO}")
    redactor.redact_file_data(f"password: {PASSWORD}", name=f"out-{ONE}.txt")
    report = redactor.build_report()
    assert report.rules == {"github": RuleCount(3, 2), "password": RuleCount(1, 1)}
    assert [(place.rule, place.times, place.file) for place in report.places] == [
        ("github", 3, None),
        ("password", 1, "out-[secret:github:1].txt"),
    ]
    assert report.replacement_count == 4


def test_the_report_never_holds_a_secret() -> None:
    redactor = Redactor()
    redactor.redact_value({ONE: [{f"{TWO} x": f"password={PASSWORD} {KEY}"}]})
    told = repr(redactor.build_report()) + repr(redactor)
    for secret in (ONE, TWO, PASSWORD, *KEY.split("\n")[1:-1]):
        assert secret not in told
        assert secret[4:16] not in told


def test_what_is_nested_too_deep_is_not_let_through() -> None:
    value: object = ONE
    for _ in range(400):
        value = [value]
    assert ONE not in repr(Redactor().redact_value(value))


def test_emails_and_home_folders_go_on_request() -> None:
    text = (
        r"ask bob.b@corp.example in /home/bobby/x, C:\Users\Bob B, C:\\Users\\bobby, ~/.claude/projects/-Users-bobby-x"
    )
    assert Redactor().redact_text(text) == text
    redactor = Redactor(SecretRules(emails=True, homes=True))
    assert redactor.redact_text(text) == (
        r"ask [email:1] in /home/[user:1]/x, C:\Users\[user:2] B, C:\\Users\\[user:1],"
        " ~/.claude/projects/-Users-[user:1]-x"
    )
    assert redactor.redact_text("noreply@anthropic.com /home/user/x") == "noreply@anthropic.com /home/user/x"


def test_names_of_people_are_no_secrets_and_their_placeholders_stay() -> None:
    redactor = Redactor(SecretRules(emails=True, homes=True))
    once = redactor.redact_text("bob.b@corp.example in /home/bobby/x and ~/.claude/projects/-Users-bobby-x")
    assert once == "[email:1] in /home/[user:1]/x and ~/.claude/projects/-Users-[user:1]-x"
    again = Redactor(SecretRules(emails=True, homes=True))
    assert again.redact_text(once) == once
    assert again.redact_text(f"{once} /home/carol/y /home/[secret:user:7]/z").endswith(
        " /home/[user:8]/y /home/[secret:user:7]/z"
    )


def test_rules_can_be_left_out() -> None:
    assert Redactor(SecretRules(without=["github"])).redact_text(ONE) == ONE


def test_an_aws_secret_key_is_found_beside_its_id_only() -> None:
    secret = drawer(9)(BASE64, 40)
    assert Redactor().redact_text(f"see {secret} there") == f"see {secret} there"
    assert secret not in Redactor().redact_text(f"{TOKENS['aws id'](DRAW)}\t{secret}")


@pytest.mark.parametrize("text", ["", "a", "\ud800", "\x00\x1b[", "İ" * 50 + " password=İ1İ2İ3İ4İ5", "\\" * 99])
def test_odd_texts_are_no_problem(text: str) -> None:
    assert isinstance(Redactor(SecretRules(emails=True, homes=True)).redact_text(text), str)
