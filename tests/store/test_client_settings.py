"""Hooks go into settings and come out again, and nothing else in the text is touched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from turnlog.errors import TurnlogError
from turnlog.store.client_settings import add_client_hooks, iter_our_hooks, parse_client_settings, remove_client_hooks

HOOK = {"type": "command", "command": "ours --x", "timeout": 10}
HOOKS = {"Stop": HOOK, "SessionEnd": HOOK}


def is_ours(command: str) -> bool:
    return command.startswith("ours")


def without(text: str) -> str:
    return remove_client_hooks(text, is_ours)


def test_settings_with_a_layout_of_their_own_keep_it() -> None:
    before = '{\r\n\t"b": [1,2],\r\n\t"a" : {"\\u00e9": 1.0}\r\n}'
    after = add_client_hooks(before, {"Stop": HOOK})
    assert after.split("\r\n") == snapshot(
        [
            "{",
            '\t"b": [1,2],',
            '\t"a" : {"\\u00e9": 1.0},',
            '\t"hooks": {',
            '\t\t"Stop": [',
            "\t\t\t{",
            '\t\t\t\t"hooks": [',
            "\t\t\t\t\t{",
            '\t\t\t\t\t\t"type": "command",',
            '\t\t\t\t\t\t"command": "ours --x",',
            '\t\t\t\t\t\t"timeout": 10',
            "\t\t\t\t\t}",
            "\t\t\t\t]",
            "\t\t\t}",
            "\t\t]",
            "\t}",
            "}",
        ]
    )
    assert without(after) == before


@pytest.mark.parametrize(
    "before",
    [
        "{}",
        "{}\n",
        '{"a": 1}',
        '{"a":1}\n\n',
        '{\n    "a": 1\n}\n',
        '{\n  "hooks": {\n    "Stop": [\n      {\n        "hooks": []\n      }\n    ]\n  },\n  "z": null\n}\n',
        '{"hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "theirs"}]}]}, "z": 1}',
        '{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "theirs"}]}]}}',
        '{"a": 1, "a": 2}',
    ],
)
def test_what_is_put_in_and_taken_out_leaves_the_text_as_it_was(before: str) -> None:
    after = add_client_hooks(before, HOOKS)
    assert [event for event, _ in iter_our_hooks(parse_client_settings(after), is_ours)] == ["Stop", "SessionEnd"]
    assert without(after) == before


def test_nothing_becomes_settings_of_hooks_alone() -> None:
    assert json.loads(add_client_hooks("", HOOKS)) == {
        "hooks": {"Stop": [{"hooks": [HOOK]}], "SessionEnd": [{"hooks": [HOOK]}]}
    }
    assert without(add_client_hooks(" \n", HOOKS)) == "{}\n"


def test_a_hook_that_somebody_put_beside_others_is_taken_out_alone() -> None:
    theirs = {"type": "command", "command": "theirs"}
    groups = [{"matcher": "", "hooks": [theirs, HOOK, theirs]}, {"hooks": [HOOK, theirs]}, "strange", {"hooks": 1}]
    text = json.dumps({"hooks": {"Stop": groups, "Other": [{"hooks": [HOOK]}]}}, indent=1)
    left = [{"matcher": "", "hooks": [theirs, theirs]}, {"hooks": [theirs]}, "strange", {"hooks": 1}]
    assert json.loads(without(text)) == {"hooks": {"Stop": left}}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
THEIRS = st.fixed_dictionaries({"hooks": st.lists(JSON, max_size=2)}) | JSON


@given(
    st.dictionaries(st.text(max_size=5).filter("hooks".__ne__), JSON, max_size=3),
    st.dictionaries(st.sampled_from(["Stop", "SessionEnd", "PreToolUse"]), st.lists(THEIRS, min_size=1, max_size=3)),
    st.sampled_from([None, 0, 2, "\t"]),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n", " \n\n"]),
)
def test_any_settings_come_back_byte_for_byte(
    other: dict[str, Any], hooks: dict[str, Any], indent: int | str | None, newline: str, end: str
) -> None:
    settings = {**other, "hooks": hooks} if hooks else other
    text = json.dumps(settings, indent=indent).replace("\n", newline) + end
    after = add_client_hooks(text, HOOKS)
    added = {event: [*hooks.get(event, []), {"hooks": [HOOK]}] for event in HOOKS}
    assert json.loads(after) == {**settings, "hooks": {**hooks, **added}}
    if newline == "\r\n" and newline in text.rstrip():
        assert "\n" not in after.rstrip().replace(newline, "")
    assert without(after) == text


@pytest.mark.parametrize("text", ["[]", "1", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"hooks": {"Other": 1}}'])
def test_settings_of_another_shape_are_refused(text: str) -> None:
    with pytest.raises(TurnlogError, match="not valid Claude Code settings"):
        add_client_hooks(text, HOOKS)


@pytest.mark.parametrize(("text", "line"), [("{", 1), ('{\n"a": 1,\n}', 3), ("// note\n{}", 1), ("{}\n{}", 2)])
def test_what_is_no_json_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(TurnlogError, match=f"line {line}: not valid JSON"):
        add_client_hooks(text, HOOKS)


def test_what_only_python_takes_for_json_is_refused() -> None:
    with pytest.raises(TurnlogError, match="NaN is not a JSON value"):
        add_client_hooks('{"a": NaN}', HOOKS)
