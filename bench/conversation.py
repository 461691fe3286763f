"""Generate one conversation of any length: prompts, answers in Markdown, and calls with their results."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from .measure import find_bench_folder

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_WORDS = (
    "the cart total tax rounding order test fails when price item basket discount line invoice report run fix".split()
)
_ANSWER = """{words}

## {title}

- first {words}
- then `{title}`

```python
def {title}(items: list[Item]) -> Decimal:
    return sum((item.price for item in items), Decimal(0))
```

| case | before | after |
|---|---|---|
| {title} | 1.05 | 1.06 |
"""


def generate_conversation(messages: int) -> Path:
    """Return a config folder with one session of this many messages, generated on first use."""
    out = find_bench_folder() / f"conversation-{messages}"
    path = out / "projects" / "-home-dana-webshop" / f"{_make_id(random.Random(messages))}.jsonl"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as file:
            file.writelines(
                json.dumps(line, separators=(",", ":")) + "\n" for line in _generate_lines(path.stem, messages)
            )
        unfinished.rename(path)
    return out


def _generate_lines(session: str, messages: int) -> Iterator[dict[str, Any]]:
    dice = random.Random(messages)
    parent, now = None, START
    for number in range(messages):
        now += timedelta(seconds=dice.randint(1, 40))
        kind, body = _build_message(dice, number)
        uuid = _make_id(dice)
        yield {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/dana/webshop",
            "sessionId": session, "version": "2.1.325", "gitBranch": "main", "type": kind, "message": body,
            "uuid": uuid, "timestamp": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }  # fmt: skip
        parent = uuid


def _build_message(dice: random.Random, number: int) -> tuple[str, dict[str, Any]]:
    """Build a message; every six form a cycle of prompt, call, result, call, result and answer."""
    sentence = " ".join(dice.choices(_WORDS, k=dice.randint(8, 60)))
    match number % 6:
        case 0:
            return "user", {"role": "user", "content": f"{sentence}?"}
        case 1 | 3:
            arguments = {"command": f"pytest -k {dice.choice(_WORDS)}", "description": sentence[:60]}
            block = {"type": "tool_use", "id": f"toolu_{number:012d}", "name": "Bash", "input": arguments}
            return "assistant", _build_answer(number, [block], "tool_use")
        case 2 | 4:
            output = "\n".join(" ".join(dice.choices(_WORDS, k=9)) for _ in range(dice.randint(2, 30)))
            block = {"type": "tool_result", "tool_use_id": f"toolu_{number - 1:012d}", "content": output}
            return "user", {"role": "user", "content": [block]}
    text = _ANSWER.format(words=sentence, title=dice.choice(_WORDS))
    return "assistant", _build_answer(number, [{"type": "text", "text": text}], "end_turn")


def _build_answer(number: int, content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
    usage = {"input_tokens": 4, "cache_read_input_tokens": 20_000 + number % 90_000, "output_tokens": 120}
    return {
        "id": f"msg_{number:012d}", "type": "message", "role": "assistant", "model": "claude-opus-4-5-20251101",
        "content": content, "stop_reason": stop, "usage": usage,
    }  # fmt: skip


def _make_id(dice: random.Random) -> str:
    return str(UUID(int=dice.getrandbits(128), version=4))
