"""Whatever is stripped from whatever session, it stays the same session."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.edit.strip_checks import EXTREME, must_be_sound
from tests.session.build import DATA, Build, outcome, use
from turnlog.edit.strip.presets import PRESETS
from turnlog.edit.strip.strip_options import StripOptions, StripRule
from turnlog.session.session import Session

GENUINE = sorted([*DATA.glob("sessions/**/????????-*.jsonl"), *DATA.glob("variants/*.jsonl")])
SOME = [
    *(preset.strip_options for preset in PRESETS),
    EXTREME,
    StripOptions(StripRule(1, None, 1), named=(("Read", StripRule()),)),
    StripOptions(named=(("Bash", StripRule(0, None, 0)),)),
    StripOptions(thinking=0),
    StripOptions(noise=True),
    StripOptions(images=0),
]


@pytest.mark.parametrize("path", GENUINE, ids=lambda path: path.relative_to(DATA).as_posix())
def test_a_genuine_session_stays_the_same_session(path: Path) -> None:
    for wishes in SOME:
        must_be_sound(Session.from_bytes(path.read_bytes()), wishes)


@pytest.mark.slow
@pytest.mark.corpus
def test_sessions_of_other_people_stay_the_same_sessions(corpus: Path) -> None:
    for path in sorted(corpus.glob("wild/**/*.jsonl")):
        session = Session.from_bytes(path.read_bytes())
        for wishes in (PRESETS[1].strip_options, EXTREME, SOME[5]):
            must_be_sound(session, wishes)


TOOLS = st.sampled_from(["Bash", "Read", "Edit", "TodoWrite"])
AGES = st.one_of(st.none(), st.integers(0, 3))
RULES = st.builds(StripRule, st.integers(0, 3), st.one_of(st.none(), st.sampled_from([0, 20, 300])), AGES)
WISHES = st.builds(
    StripOptions,
    RULES,
    st.lists(st.tuples(TOOLS, RULES), max_size=2).map(tuple),
    st.frozensets(TOOLS, max_size=1),
    st.booleans(),
    st.booleans(),
    AGES,
    AGES,
    st.booleans(),
)
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K" * 90}}


class Wild(Build):
    """A session as it may come, steered by drawn numbers."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__()
        self._draw = draw
        self._calls = 0
        self._rows: list[str] = []

    def pick(self, *of: object) -> object:
        return self._draw(st.sampled_from(of))

    def grow(self) -> None:
        ends = []
        for _ in range(self._draw(st.integers(1, 5))):
            if self._rows and self.pick(True, False, False):
                self.last = self._draw(st.sampled_from(self._rows))  # a rewind
            content = self.pick("do it", [{"type": "text", "text": "look"}, PICTURE])
            self._rows.append(self.prompt(content))
            ends.append(self._rows[-1])
            for _ in range(self._draw(st.integers(0, 3))):
                self._answer()
            self._between()
        if self.pick(True, False):
            self.note("last-prompt", leafUuid=self._draw(st.sampled_from([self.last, *ends])))

    def _answer(self) -> None:
        message = f"m{len(self.lines)}"
        if self.pick(True, False):
            self.answer({"type": "thinking", "thinking": "hm " * 50, "signature": "s"}, id=message)
        if self.pick(True, False):
            self.answer(f"text of {message}", id=message)
        calls = [self._call() for _ in range(self._draw(st.integers(0, 3)))]
        if calls and self.pick(True, False, False):  # all in one row, and all results in one
            self.answer(*(use(*call) for call in calls), id=message)
            extra = [{"type": "text", "text": "beside"}] if self.pick(True, False, False) else []
            self.prompt(
                [
                    *(outcome(call[0], self._output()) for call in calls if self._is_answered()),
                    *extra,
                ]
            )
            return
        uuids = [(call[0], self.call(*call, id=message)) for call in calls]
        for call, uuid in self._draw(st.permutations(uuids)):
            if self._is_answered():
                self._between()
                copy = {"stdout": "x" * 400, "lines": ["line"] * 50}
                self.result(call, self._output(), parent=uuid, toolUseResult=copy)
                if self.pick(False, False, True):
                    self.attachment("queued_command", parent=self.last, prompt="wait")
                    if self.pick(True, False):
                        self.last = self.lines[-1]["parentUuid"]

    def _call(self) -> tuple[str, str, object]:
        self._calls += 1
        tool = str(self._draw(TOOLS))
        path = {"file_path": self.pick("/a", "/b"), "new_string": "n" * 500}
        return f"c{self._calls}", tool, path if tool in ("Read", "Edit") else {"command": self.pick("ls", "l" * 700)}

    def _is_answered(self) -> bool:
        return bool(self.pick(True, True, True, True, False))

    def _output(self) -> object:
        return self.pick("short", "long " * 300, [{"type": "text", "text": "long " * 99}, PICTURE])

    def _between(self) -> None:
        match self.pick("", "", "progress", "hook", "title", "mode", "snapshot"):
            case "progress":
                self.progress()
            case "hook":
                self.attachment("hook_success", content="ok")
            case "title":
                self.note("ai-title", aiTitle=f"title {len(self.lines)}")
            case "mode":
                self.note("permission-mode", permissionMode="default")
            case "snapshot":
                self.note("file-history-snapshot", messageId=self.last, snapshot={})
            case _:
                pass


@st.composite
def sessions(draw: st.DrawFn) -> bytes:
    build = Wild(draw)
    build.grow()
    return build.data()


@given(sessions(), WISHES)
def test_any_session_stays_the_same_session(data: bytes, wishes: StripOptions) -> None:
    must_be_sound(Session.from_bytes(data), wishes)
