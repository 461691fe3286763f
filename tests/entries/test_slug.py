"""The folder name of a working directory; the expected names were made by the real client (2.1.325)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.entries.layout import list_project_folders, list_session_files
from turnlog.entries.peek import peek_file
from turnlog.entries.slug import make_slug

D60 = "d" * 60
E30 = "\U0001f600" * 30
U40 = "u\u0308" * 40


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/alice/work", "-home-alice-work"),
        ("/tmp/skn2lgdsc/w/_under.dot", "-tmp-skn2lgdsc-w--under-dot"),
        ("/tmp/skn2lgdsc/w/E:\\x y\\Z.app", "-tmp-skn2lgdsc-w-E--x-y-Z-app"),
        ("/tmp/skn2lgdsc/w/em\U0001f600ji-ü", "-tmp-skn2lgdsc-w-em--ji--"),
        ("/tmp/sjayr2vrm/w/nfdu\u0308x", "-tmp-sjayr2vrm-w-nfdu-x"),
        ("E:\\x", "E--x"),
        ("", ""),
    ],
)
def test_each_utf16_unit_that_is_no_letter_or_digit_becomes_a_dash(cwd: str, name: str) -> None:
    assert make_slug(cwd) == name


@pytest.mark.parametrize(
    ("cwd", "ending"),
    [
        (f"/tmp/skn2lgdsc/w/{D60}/{D60}/{D60}/{D60}/e", "-dddd--dq7oz8"),
        (f"/tmp/skn2lgdsc/w/{E30}/{E30}/{E30}/{E30}", "-----psq5ge"),
        (f"/tmp/sjayr2vrm/w/{U40}/{U40}/{U40}", "-u-ib9nng"),
    ],
)
def test_a_name_beyond_200_units_is_cut_and_gets_the_clients_hash(cwd: str, ending: str) -> None:
    name = make_slug(cwd)
    assert name.endswith(ending[-7:])
    assert len(name) == 200 + len("-dq7oz8")


def test_a_name_of_exactly_200_units_is_left_as_it_is() -> None:
    assert make_slug("/" + "a" * 199) == "-" + "a" * 199
    assert len(make_slug("/" + "a" * 200)) > 201


def test_a_hash_of_zero_is_written_as_a_digit() -> None:
    assert make_slug("\0" * 201) == "-" * 200 + "-0"


@given(st.text(alphabet=st.characters(), max_size=400))
def test_any_text_gives_a_name_that_is_safe_in_every_file_system(cwd: str) -> None:
    name = make_slug(cwd)
    assert len(name) <= 208
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")


@pytest.mark.corpus
def test_the_recorded_folders_are_the_slugs_of_the_first_working_directory(corpus: Path) -> None:
    checked = 0
    for config_dir in sorted((corpus / "lab").glob("*/*")):
        assert all(folder.parent == config_dir / "projects" for folder in list_project_folders(config_dir))
        for session in list_session_files(config_dir):
            if cwd := peek_file(session.file).cwd:
                assert session.project_dir.name == make_slug(cwd)
                checked += 1
    assert checked > 60
