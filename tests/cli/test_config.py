"""Settings: flags before the environment before the file."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import platformdirs
import pytest

from turnlog.api.config import Config, config_file, data_dir, load_config
from turnlog.errors import UsageError


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "config.toml"
    monkeypatch.setenv("TURNLOG_CONFIG", str(path))
    return path


def test_without_a_file_the_defaults_hold() -> None:
    assert load_config() == Config(config_dirs=(), gap_minutes=5, color=None)


def test_the_usual_file_and_folder_are_where_the_platform_wants_them() -> None:
    assert config_file() == platformdirs.user_config_path("turnlog", appauthor=False) / "config.toml"
    assert data_dir() == platformdirs.user_data_path("turnlog", appauthor=False)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG")
def test_xdg_variables_move_file_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "d"))
    assert config_file() == tmp_path / "c" / "turnlog" / "config.toml"
    assert data_dir() == tmp_path / "d" / "turnlog"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG")
def test_a_relative_xdg_variable_does_not_count(strange_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "somewhere")
    assert config_file() == strange_machine / ".config" / "turnlog" / "config.toml"


def test_the_usual_file_and_folder_are_below_the_home(strange_machine: Path) -> None:
    assert strange_machine in config_file().parents
    assert strange_machine in data_dir().parents


def test_turnlog_home_names_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNLOG_HOME", str(tmp_path / "data"))
    assert data_dir() == tmp_path / "data"
    assert not data_dir().exists()


def test_the_file_wins_over_the_defaults(file: Path, strange_machine: Path) -> None:
    file.write_text('config_dirs = ["~/old", "/x/.claude"]\ngap_minutes = 30\ncolor = false\n', encoding="utf-8")
    assert load_config() == Config((str(strange_machine / "old"), str(Path("/x/.claude"))), 30, False)


def test_a_byte_order_mark_does_not_matter(file: Path) -> None:
    file.write_text("gap_minutes = 7\n", encoding="utf-8-sig")
    assert load_config().gap_minutes == 7


def test_the_environment_wins_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text('config_dirs = ["/x"]\ngap_minutes = 30\ncolor = true\n', encoding="utf-8")
    monkeypatch.setenv("TURNLOG_CONFIG_DIRS", os.pathsep.join(["one", "", "two"]))
    monkeypatch.setenv("TURNLOG_GAP_MINUTES", "12")
    monkeypatch.setenv("NO_COLOR", "1")
    assert load_config() == Config(("one", "two"), 12, False)


def test_flags_win_over_the_environment(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("gap_minutes = 30\n", encoding="utf-8")
    monkeypatch.setenv("TURNLOG_GAP_MINUTES", "12")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert load_config(gap_minutes=1, color=None) == Config((), 1, True)


def test_no_color_wins_over_force_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert load_config().color is False


def test_an_unknown_key_is_a_warning_that_names_file_and_key(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("gap_minuts = 3\n[web]\nport = 1\n", encoding="utf-8")
    assert load_config() == Config()
    assert capsys.readouterr().err.splitlines() == [
        f"turnlog: warning: {file}: unknown key 'gap_minuts'; did you mean 'gap_minutes'?",
        f"turnlog: warning: {file}: unknown key 'web'",
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("gap_minutes = 0", "gap_minutes = 0: expected a whole number of minutes, 1 or more"),
        ("gap_minutes = true", "gap_minutes = True: expected a whole number of minutes, 1 or more"),
        ("gap_minutes = 1.5", "gap_minutes = 1.5: expected a whole number of minutes, 1 or more"),
        ("config_dirs = 'x'", "config_dirs = 'x': expected a list of folders"),
        ("config_dirs = [1]", "config_dirs = [1]: expected a list of folders"),
        ("color = 'red'", "color = 'red': expected true or false"),
    ],
)
def test_a_value_of_the_wrong_kind_is_refused_with_what_is_expected(file: Path, line: str, reason: str) -> None:
    file.write_text(line, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_config()
    assert str(caught.value) == f"{file}: {reason}"


def test_a_broken_file_is_refused_with_line_and_remedy(file: Path) -> None:
    file.write_text("gap_minutes = 5\ncolor = \n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"config\.toml: .*line 2.*; correct the file or move it aside"):
        load_config()


def test_a_file_that_is_not_utf_8_is_refused_with_line_and_remedy(file: Path) -> None:
    file.write_bytes(b"gap_minutes = 5\n# caf\xe9\n")
    with pytest.raises(UsageError, match=r"config\.toml, line 2: not UTF-8; save the file as UTF-8"):
        load_config()


def test_a_named_file_that_is_missing_is_refused(file: Path) -> None:
    with pytest.raises(UsageError, match="no such file; correct or unset TURNLOG_CONFIG"):
        load_config()


def test_a_folder_in_the_place_of_the_file_is_refused(file: Path) -> None:
    file.mkdir()
    with pytest.raises(UsageError, match="can't read the settings"):
        load_config()


@pytest.mark.parametrize("value", ["soon", "0", "-1", "1.5"])
def test_a_wrong_number_in_the_environment_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TURNLOG_GAP_MINUTES", value)
    with pytest.raises(UsageError, match=f"TURNLOG_GAP_MINUTES={value}: expected a whole number"):
        load_config()
