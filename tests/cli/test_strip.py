"""`turnlog strip`: what would be stripped, and how the wishes are spelled."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import HOSTILE, Turnlog, harmful
from tests.edit.test_strip import work
from tests.session.build import Build
from turnlog.api.config import Config
from turnlog.api.strip import STRIP_RUNGS, build_rung_options
from turnlog.cli.edit.strip_options import parse_strip_options
from turnlog.edit.strip.presets import PRESETS, estimate_strip_effect
from turnlog.edit.strip.strip_options import StripOptions, StripRule
from turnlog.errors import UsageError
from turnlog.session.session import Session
from turnlog.session.window.window_fill import compute_window_fill

STANDARD = PRESETS[1].strip_options


def parse_options(config: Config | None = None, **options: object) -> StripOptions | None:
    return parse_strip_options(config or Config(), options)


def test_it_tells_what_each_rule_saves_and_writes_nothing(turnlog: Turnlog, tmp_path: Path) -> None:
    path = work(8).write(tmp_path)
    before = path.read_bytes()
    done = turnlog("strip", path)
    assert done.status == 0
    assert "Preset standard." in done.out
    assert "calls and results shortened" in done.out
    assert "Next request: about" in done.out
    assert f"turnlog clone {path} --preset standard" in done.out
    assert path.read_bytes() == before
    assert sorted(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("preset", [preset.name for preset in PRESETS])
def test_a_preset_saves_what_context_says(turnlog: Turnlog, tmp_path: Path, preset: str) -> None:
    path = work(15).write(tmp_path)
    found = turnlog("strip", path, "--preset", preset, "--json").json
    (told,) = [item for item in turnlog("context", path, "--json").json["presets"] if item["name"] == preset]
    assert (found["tokens_before"], found["tokens_after"]) == (told["before"], told["after"])
    assert sum(rule["tokens"] for rule in found["rules"]) == told["saved"]
    real = found["bytes_before"] - found["bytes_after"]
    # What a row has beside its content, and JSON's own marks, are not in what context estimates.
    assert 0.75 * real <= told["bytes"] <= 1.1 * real


def test_a_session_with_nothing_to_strip_says_so(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.answer("hi")
    assert "There is nothing to strip." in turnlog("strip", build.write(tmp_path)).out


def test_hostile_names_do_no_harm(turnlog: Turnlog, tmp_path: Path) -> None:
    build = work(8)
    build.turn("c99", tool=HOSTILE)
    done = turnlog("strip", build.write(tmp_path), "--tools", f"remove:{HOSTILE.strip()}")
    assert not harmful(done.out + done.err)


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["keep=3"], StripRule(3, None, 3)),
        (["truncate"], StripRule(0, 800)),
        (["truncate=50"], StripRule(0, 50)),
        (["keep=3", "truncate"], StripRule(3, 800)),
        (["keep=3", "remove"], StripRule(3, None, 3)),
        (["remove"], StripRule(0, None, 0)),
        (["remove=4"], StripRule(0, None, 4)),
        (["keep=2", "truncate=300", "remove=10"], StripRule(2, 300, 10)),
    ],
)
def test_rules_for_tools(words: list[str], rule: StripRule) -> None:
    assert parse_options(tools=words) == StripOptions(rule)


def test_rules_for_some_tools() -> None:
    found = parse_options(tools=["remove:Bash,Read", "truncate=9:mcp__*", "keep=2"], protect=["Task", "A, B"])
    removed = StripRule(2, None, 2)
    named = (("Bash", removed), ("Read", removed), ("mcp__*", StripRule(2, 9)))
    assert found == StripOptions(named=named, protected=frozenset({"Task", "A", "B"}))


def test_what_stands_beside_a_preset_goes_before_it() -> None:
    found = parse_options(
        preset="standard", tools=["keep=9"], thinking="keep", images="keep=2", noise=False, copies="keep"
    )
    assert found is not None
    assert found.tools == StripRule(9, STANDARD.tools.longest, None, STANDARD.tools.fade_from)
    assert (found.thinking, found.images, found.copies, found.noise) == (None, 2, None, False)
    assert found.duplicates
    heavy = parse_options(preset="heavy", tools=["keep=4"])
    assert heavy is not None
    assert heavy.tools == StripRule(4, 300, 12)


def test_nothing_asked_for_is_no_wish() -> None:
    assert parse_options() is None
    assert parse_options(tools=(), protect=(), noise=None) is None
    assert parse_options(preset="light") == PRESETS[0].strip_options


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tools": ["drop"]}, "expected keep=N"),
        ({"tools": ["keep=-1"]}, "numbers must be from 0 to 999999"),
        ({"tools": ["keep=5", "remove=2"]}, "use a number from 5 to 999999"),
        ({"tools": ["keep=5", "keep=6"]}, "used 2 times"),
        ({"thinking": "last"}, "expected keep, remove, or keep-last=N"),
        ({"images": "many"}, "keep=N with N from 0 to 999999"),
        ({"copies": "keep=x"}, "keep=N with N from 0 to 999999"),
        ({"preset": "mild"}, "use one of light, standard, heavy, extreme"),
    ],
)
def test_wrong_wishes_are_refused_with_what_is_valid(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_strip_options(Config(), dict(options))


def test_wrong_wishes_exit_with_status_2(turnlog: Turnlog, tmp_path: Path) -> None:
    assert turnlog("strip", work(1).write(tmp_path), "--images", "140%").status == 2


# -- the user's own presets


def test_own_presets_of_the_config_file(turnlog: Turnlog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = work(8).write(tmp_path)
    config = tmp_path / "config.toml"
    config.write_text('[presets.mine]\nbase = "standard"\ntools = ["keep=1", "truncate=50"]\nnoise = false\n')
    monkeypatch.setenv("TURNLOG_CONFIG", str(config))
    found = turnlog("strip", path, "--preset", "mine", "--json").json
    assert found["preset"] == "mine"
    assert [rule["results"] for rule in found["rules"] if rule["rule"] == "shortened"] == [7]


def test_an_own_preset_may_build_on_another() -> None:
    config = Config(presets={"a": {"base": "b", "images": "keep=1"}, "b": {"base": "heavy", "stale_reads": False}})
    found = parse_options(config, preset="a")
    assert found is not None
    assert (found.preset, found.images, found.stale_reads, found.thinking) == ("a", 1, False, 1)


@pytest.mark.parametrize(
    ("preset", "words"),
    [
        ({"base": "nothing"}, "unknown preset 'nothing'"),
        ({"base": "mine"}, "unknown preset 'mine'"),
        ({"colour": 1}, r"\[presets.mine\]: unknown key 'colour'"),
        ({"noise": "yes"}, r"\[presets.mine\]: noise = 'yes': expected true or false"),
        ({"tools": 5}, r"\[presets.mine\]: tools = 5: expected a string or a list"),
        ({"images": "all"}, r"\[presets.mine\]: images all: expected keep"),
    ],
)
def test_a_wrong_preset_is_refused_with_file_and_key(preset: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_options(Config(presets={"mine": preset}), preset="mine")


def test_fit_prints_a_command_that_makes_a_session_of_that_size(turnlog: Turnlog, tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    folder.mkdir()
    path = work(15).write(folder)
    whole = turnlog("context", path, "--json").json["estimated"]["tokens"]
    done = turnlog("strip", path, "--fit", str(whole // 2), "--json")
    fit = done.json["fit"]
    assert fit["after"] == done.json["tokens_after"] <= fit["target"] == whole // 2
    command = shlex.split(fit["command"])
    assert command[:3] == ["turnlog", "clone", str(path)]
    assert turnlog("strip", *command[2:], "--json").json["tokens_after"] == fit["after"]
    assert fit["command"] in turnlog("strip", path, "--fit", str(whole // 2)).out
    made = turnlog(*command[1:], "--json").json["made"]
    assert turnlog("context", made["path"], "--json").json["estimated"]["tokens"] <= fit["target"]


def test_every_rung_takes_away_at_least_what_the_one_before_does(tmp_path: Path) -> None:
    build = work(40)
    build.prompt("all night long")
    for number in range(120):
        build.turn(f"n{number}", tool="Read") if number % 40 == 0 else build.call(f"n{number}")
        build.result(f"n{number}", "r" * 3000)
    with Session.open(build.write(tmp_path)) as session:
        found = compute_window_fill(session)
        left = [
            estimate_strip_effect(build_rung_options(rung, config=Config()), found, session.file.entries).after
            for rung in STRIP_RUNGS
        ]
    assert left == sorted(left, reverse=True)
    assert len(set(left)) > 6


def test_fit_keeps_what_is_protected(turnlog: Turnlog, tmp_path: Path) -> None:
    path = work(15).write(tmp_path)
    done = turnlog("strip", path, "--fit", "1k", "--protect", "*")
    assert done.status == 1
    assert "stripping can't shrink the session to 1k (1,000 tokens)" in done.err
    assert "--compact" in done.err


def test_fit_says_so_when_the_session_fits_already(turnlog: Turnlog, tmp_path: Path) -> None:
    done = turnlog("strip", work(3).write(tmp_path), "--fit", "900k")
    assert done.status == 1
    assert "already fits" in done.err


@pytest.mark.parametrize("size", ["0%", "101%", "-5", "lots", "60 %", "1.5k"])
def test_a_size_that_means_nothing_is_refused(turnlog: Turnlog, tmp_path: Path, size: str) -> None:
    done = turnlog("strip", work(3).write(tmp_path), f"--fit={size}")
    assert (done.status, done.err.count("\n")) == (2, 1)


def test_fit_chooses_alone(turnlog: Turnlog, tmp_path: Path) -> None:
    done = turnlog("strip", work(3).write(tmp_path), "--fit", "50%", "--preset", "light")
    assert done.status == 2
    assert "--fit chooses the options automatically" in done.err


def test_a_share_of_an_unknown_window_is_refused(turnlog: Turnlog, tmp_path: Path) -> None:
    build = Build()
    build.prompt()
    build.answer("hi", model="nobody-1")
    done = turnlog("strip", build.write(tmp_path), "--fit", "50%")
    assert done.status == 2
    assert "use a number of tokens" in done.err
