"""The table [notify]: a mistake is one line that names the file, the key and what to do; secrets are never shown."""

from __future__ import annotations

import tomllib
from datetime import datetime, time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.errors import UsageError
from turnlog.notify.quiet_hours import QuietHours, parse_quiet_hours
from turnlog.notify.settings import NotifyConfig, parse_notify_config

SECRET = "s3cr3t-0123456789"


def parse(text: str, **environ: str) -> NotifyConfig:
    return parse_notify_config(tomllib.loads(text).get("notify", {}), environ, "config.toml")


def test_without_settings_nothing_is_sent_anywhere() -> None:
    config = parse("")
    assert config.channels == ()
    assert not config.counts_cost


def test_every_key_is_read() -> None:
    config = parse(
        """
        [notify]
        on = ["needs", "cost"]
        minutes = 2.5
        context = 75
        session_cost = 3
        daily_cost = 9.5
        quiet = "22:00-07:00"
        content = "text"
        max_age_hours = 2
        web = false
        [notify.projects]
        "~/secret" = false
        [notify.channels.desktop]
        content = "none"
        [notify.channels.terminal]
        style = "osc9"
        [notify.channels.team]
        kind = "slack"
        url_env = "HOOK"
        [notify.channels.bot]
        kind = "telegram"
        token = "12:ab"
        chat = -100
        server = "http://127.0.0.1:9"
        [notify.channels.phone]
        kind = "ntfy"
        topic = "mine"
        token_env = "TOKEN"
        [notify.channels.mine]
        kind = "webhook"
        url = "https://user:pass@example.com/hook?x=1"
        headers = { x-a = "1" }
        headers_env = { x-b = "TOKEN" }
        timeout = 3
        """,
        HOOK="https://hooks.example.com/T/B/x",
        TOKEN="tk",
    )
    assert config.kinds == {"needs", "cost"}
    assert (config.rules.work_seconds, config.context, config.session_cost, config.daily_cost) == (150, 75, 3, 9.5)
    assert config.quiet == QuietHours(time(22), time(7))
    assert (config.max_age_hours, config.web, config.projects) == (2, False, (("~/secret", False),))
    desktop, terminal, team, bot, phone, mine = config.channels
    assert (desktop.kind, desktop.content, terminal.style, terminal.content) == ("desktop", "none", "osc9", "text")
    assert team.url == "https://hooks.example.com/T/B/x"
    assert (bot.url, bot.chat) == ("http://127.0.0.1:9/bot12:ab/sendMessage", -100)
    assert (phone.url, phone.topic, phone.headers) == ("https://ntfy.sh", "mine", {"authorization": "Bearer tk"})
    assert mine.url == "https://example.com/hook?x=1"
    assert {**mine.headers} == {"authorization": "Basic dXNlcjpwYXNz", "x-a": "1", "x-b": "tk"}


CHANNEL = "[notify.channels.c]\nkind = "
MISTAKES = [
    ("[notify]\nminute = 3", "[notify]: unknown key 'minute'; did you mean 'minutes'?"),
    ("[notify]\nminutes = 'x'", "[notify] minutes = 'x': expected minutes"),
    ("[notify]\nminutes = -1", "[notify] minutes = -1: expected minutes, 0 or more"),
    ("[notify]\nminutes = true", "[notify] minutes = True: expected minutes"),
    ("[notify]\ncontext = 120", "[notify] context = 120: expected a percentage from 1 to 100"),
    ("[notify]\non = ['need']", "[notify] on = ['need']: expected a list of needs, failed"),
    ("[notify]\non = ['cost']", '[notify] on: "cost" requires a limit; set session_cost or daily_cost'),
    ("[notify]\nquiet = '25:00-07:00'", "[notify] quiet = '25:00-07:00': expected a range of local time such as \"22"),
    ("[notify]\nquiet = '07:00-07:00'", "[notify] quiet = '07:00-07:00': expected a range"),
    ("[notify]\ncontent = 'full'", "[notify] content = 'full': expected"),
    ("[notify]\ndaily_cost = 0", "[notify] daily_cost = 0: expected dollars, more than 0"),
    ("[notify]\ndaily_cost = nan", "[notify] daily_cost = nan: expected dollars"),
    ("[notify.projects]\n'/a' = 'no'", "[notify] projects = {'/a': 'no'}: expected a table of folders"),
    ("[notify]\nchannels = 3", "[notify] channels: expected tables such as [notify.channels.desktop]"),
    ("[notify.channels]\ndesktop = true", "[notify] channels: expected tables"),
    ("[notify.channels.pager]", "[notify.channels.pager]: kind is missing; use one of desktop, terminal"),
    (f"{CHANNEL}'pager'", "[notify.channels.c]: kind = 'pager'; use one of"),
    ("[notify.channels.'a b']", "'a b' is not a valid name for a channel"),
    ("[notify.channels.browser]", "'browser' is not a valid name for a channel; the pages of"),
    (f"{CHANNEL}'slack'", "[notify.channels.c]: url is missing; set url or url_env"),
    (f"{CHANNEL}'telegram'\ntoken='1:a'", "[notify.channels.c]: chat is missing; set chat"),
    (f"{CHANNEL}'telegram'\ntoken='{SECRET}'\nchat=1", "[notify.channels.c] token: expected a bot token"),
    (f"{CHANNEL}'ntfy'\ntopic='{SECRET}/x'", "[notify.channels.c] topic: expected letters"),
    (f"{CHANNEL}'ntfy'\ntopic_env='T'", "topic_env: expected letters"),
    (f"{CHANNEL}'slack'\nurl='{SECRET}'", "url is not a valid address: it must start with https://"),
    (f"{CHANNEL}'slack'\nurl='https://{SECRET}:port/'", "url is not a valid address"),
    (f"{CHANNEL}'slack'\nurl='https://x/{SECRET} y'", "url is not a valid address: percent-encode"),
    (
        f"{CHANNEL}'slack'\nurl='http://example.com/{SECRET}'",
        "messages to http://example.com would be sent unencrypted",
    ),
    (f"{CHANNEL}'slack'\nurl='ftp://example.com/{SECRET}'", "url is not a valid address"),
    (f"{CHANNEL}'slack'\nurl=['{SECRET}']", "[notify.channels.c] url: expected a text"),
    (f"{CHANNEL}'slack'\nurl_env='NOT SET'", "url_env: expected the name of an environment variable"),
    (f"{CHANNEL}'slack'\nurl_env='https://x/{SECRET}'", "url_env: expected the name of an environment variable"),
    (f"{CHANNEL}'ntfy'\ntopic_env='{SECRET}'", "topic_env: expected the name of an environment variable"),
    (f"{CHANNEL}'webhook'\nurl='https://x'\nheaders_env={{a='Bearer {SECRET}'}}", "headers_env: expected a table"),
    ("[notify.projects]\n'work/secret' = false", "[notify.projects] 'work/secret' matches no folder; use a whole path"),
    ("[notify.projects]\n'' = false", "[notify.projects] '' matches no folder"),
    (f"{CHANNEL}'slack'\nurl_env='NOT_SET'", "url_env: the environment variable NOT_SET is not set"),
    (f"{CHANNEL}'slack'\nurls='{SECRET}'", "unknown key 'urls'; did you mean 'url'?"),
    (f"{CHANNEL}'desktop'\nurl='{SECRET}'", "unknown key 'url'; desktop has content"),
    (f"{CHANNEL}'webhook'\nurl='https://x'\nheaders={{a='{SECRET}é'}}", "header 'a' contains invalid characters"),
    (f"{CHANNEL}'webhook'\nurl='https://x'\nheaders={{host='{SECRET}'}}", "header 'host' can't be set"),
    (f"{CHANNEL}'webhook'\nurl='https://x'\ntimeout=0", "timeout = 0: expected seconds, 120 at most"),
    (f"{CHANNEL}'webhook'\nurl='https://x'\ncertificate='/nowhere.pem'", "certificate: /nowhere.pem: no such file"),
]


@pytest.mark.parametrize(("text", "words"), MISTAKES, ids=[str(number) for number in range(len(MISTAKES))])
def test_a_mistake_is_one_line_that_names_the_key(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text, T=f"{SECRET}/x")
    message = str(caught.value)
    assert message.startswith("config.toml: ")
    assert words in message
    assert "\n" not in message
    assert SECRET not in message


def test_a_secret_in_the_place_of_a_variable_s_name_is_not_repeated() -> None:
    with pytest.raises(UsageError) as caught:
        parse(f"{CHANNEL}'ntfy'\ntopic_env='tk_0123456789abcdef'")
    assert "topic_env: the environment variable with this name is not set" in str(caught.value)
    assert "tk_" not in str(caught.value)


def test_plain_http_to_another_machine_needs_consent() -> None:
    text = f"{CHANNEL}'ntfy'\ntopic='t'\nserver='http://192.0.2.1'\n"
    with pytest.raises(UsageError, match="unencrypted"):
        parse(text)
    assert parse(text + "plain = true").channels[0].url == "http://192.0.2.1"


def test_a_channel_never_shows_its_secrets() -> None:
    config = parse(
        f"{CHANNEL}'telegram'\ntoken='12345:{SECRET}'\nchat=1\n"
        f"[notify.channels.d]\nkind='ntfy'\ntopic='{SECRET}'\ntoken='{SECRET}x'\n"
        f"[notify.channels.e]\nkind='webhook'\nurl='https://u:{SECRET}@h/{SECRET}?k={SECRET}'\n"
    )
    assert SECRET not in repr(config)
    assert SECRET not in str(config)
    for channel in config.channels:
        assert SECRET not in channel.place
        text = f"reply: {channel.url} {channel.topic} {dict(channel.headers)}"
        assert SECRET not in channel.hide_secrets(text)


@pytest.mark.parametrize(
    ("projects", "project", "expected"),
    [
        ({}, "/a/b", True),
        ({"/a": False}, "/a", False),
        ({"/a": False}, "/a/b/c", False),
        ({"/a": False}, "/ab", True),
        ({"/a": False, "/a/b": True}, "/a/b/c", True),
        ({"/a/b": True, "/a": False}, "/a/b/c", False),
        ({"*": False, "/a/*": True}, "/b", False),
        ({"*": False, "/a/*": True}, "/a/b", True),
        ({"/a/*/secret": False}, "/a/x/secret/deep", False),
        ({"~/x": False}, "HOME/x/y", False),
        ({"/a/[b]": False}, "/a/[b]/c", False),
        ({"/a/[b]": False}, "/a/b", True),
        ({"/a/b?": False}, "/a/bc", True),
        ({"/a//x/../b/": False}, "/a/b/c", False),
        ({"/a": False}, "/a/b\0c", False),
        ({"/a": False}, "/b/\0\ud800", True),
        ({"/a": False}, "-a-b", False),
        ({"/a": True}, "-a-b", True),
    ],
)
def test_projects_are_switched_by_the_last_pattern_that_matches(
    projects: dict[str, bool], project: str, expected: bool
) -> None:
    config = NotifyConfig(projects=tuple(projects.items()))
    assert config.allows_project(project.replace("HOME", str(Path.home()))) is expected


def test_a_project_is_off_whichever_of_its_links_names_it(tmp_path: Path) -> None:
    real = tmp_path / "disk" / "secret"
    real.mkdir(parents=True)
    (tmp_path / "work").symlink_to(tmp_path / "disk")
    link = tmp_path / "work" / "secret"
    for named in (real, link, tmp_path / "work" / "sec*"):
        config = NotifyConfig(projects=((str(named), False),))
        assert not config.allows_project(str(real))
        assert not config.allows_project(str(real / "below"))
    assert not NotifyConfig(projects=((str(real), False),)).allows_project(str(link))


@pytest.mark.parametrize(
    ("quiet", "clock", "expected"),
    [
        ("22:00-07:00", "21:59", False),
        ("22:00-07:00", "22:00", True),
        ("22:00-07:00", "00:00", True),
        ("22:00-07:00", "06:59", True),
        ("22:00-07:00", "07:00", False),
        ("12:00-13:00", "12:30", True),
        ("12:00-13:00", "13:00", False),
        ("0:00-24:00", "13:00", None),
        ("9:00 - 17:30", "17:29", True),
    ],
)
def test_quiet_hours_include_their_start_and_exclude_their_end(quiet: str, clock: str, expected: bool | None) -> None:
    hours = parse_quiet_hours(quiet)
    found = hours.contains(datetime.fromisoformat(f"2026-11-16T{clock}")) if hours else None
    assert found is expected


@given(st.times(), st.times(), st.times())
def test_a_moment_is_either_in_a_range_or_in_its_opposite(start: time, end: time, clock: time) -> None:
    start, end = (item.replace(second=0, microsecond=0, fold=0) for item in (start, end))
    moment = datetime.combine(datetime(2026, 1, 1), clock)  # noqa: DTZ001 - local time
    if start != end:
        assert QuietHours(start, end).contains(moment) != QuietHours(end, start).contains(moment)
