"""Draw the picture of the console for docs/chat.md (`make screenshots`).

The picture shows what the program wrote to a terminal while it talked to a scripted server; only the name of the folder
is changed.
"""

from __future__ import annotations

import re
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.agent.desk import Desk, call, reply, says, script  # noqa: E402 - found by the path above
from tests.interop.mock_anthropic import MockAnthropic  # noqa: E402 - found by the path above

IMAGE = ROOT / "docs" / "images" / "chat.svg"
FOLDER = "/home/dana/shop"
COLUMNS = 96
PRICE = "def total(items):\n    return round(sum(round(i.net) for i in items))\n"
FAILING_TEST = "printf 'E       assert 120 == 119\\nFAILED tests/test_price.py\\n'; exit 1"
ANSWER = (
    "The discount is **rounded twice**: for each item, and again for the sum. Three items of 39.67 come to 120"
    " that way, and not to 119. I round once, at the end:"
)
COLOURS = {"1": "font-weight:bold", "2": "opacity:.6", "31": "fill:#f47067", "32": "fill:#57ab5a"} | {
    "33": "fill:#daaa3f",
    "36": "fill:#76e3ea",
}
_NOISE = re.compile(r"\x1b\[\?2004[hl]|\r")
_SGR = re.compile(r"\x1b\[([0-9;]*)m")


def main() -> int:
    """Draw the picture."""
    with tempfile.TemporaryDirectory(prefix="turnlog-picture-") as folder:
        IMAGE.write_text(draw_lines(record_conversation(Path(folder))), encoding="utf-8")
    print(f"{IMAGE.relative_to(ROOT)}: {IMAGE.stat().st_size // 1000} KB")
    return 0


def record_conversation(base: Path) -> list[str]:
    """Return the lines of a short conversation as they appear on the screen."""
    with MockAnthropic(script()) as mock:
        desk = Desk(base, mock)
        desk.trust()
        (desk.cwd / "price.py").write_text(PRICE)
        (desk.cwd / "pytest").write_text(f"#!/bin/sh\n{FAILING_TEST}\n")
        (desk.cwd / "pytest").chmod(0o755)
        path, old, new = str(desk.cwd / "price.py"), "round(i.net)", "i.net"
        mock.scenario.conversations[0]["replies"] = [
            reply(
                says("I run the test first."),
                call("Bash", command="pytest -q tests/test_price.py"),
                call("Read", file_path=path),
            ),
            reply(says(ANSWER), call("Edit", file_path=path, old_string=old, new_string=new)),
            "Done. The sum is rounded once now.",
        ]
        rules = ("--allowedTools", "Bash(pytest:*)")
        search_path = f"{desk.cwd}:{desk.environ['PATH']}"
        with desk.terminal(*rules, columns=COLUMNS, TERM="xterm", PATH=search_path) as terminal:
            terminal.expect("> ")
            terminal.send("why does the price test fail?\r")
            terminal.expect("allow?")
            terminal.send("y\r")
            terminal.expect("once now.")
            terminal.expect("> ")
            text = terminal.text
    output = _NOISE.sub("", text.replace("\r\x1b[K", "\x00")).replace(str(desk.cwd), FOLDER)
    return [line.rpartition("\x00")[2] for line in output.split("\n")]


def draw_lines(lines: list[str]) -> str:
    """Draw the lines as SVG."""
    width, height = 16 + round(COLUMNS * 7.85), 26 + len(lines) * 19
    rows = (
        f'<text x="14" y="{26 + number * 19}" xml:space="preserve">{style_line(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">\n'
        f'<rect width="{width}" height="{height}" rx="8" fill="#1c2128"/>\n'
        '<g fill="#cdd9e5" font-size="13" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace">\n'
        + "\n".join(rows)
        + "\n</g>\n</svg>\n"
    )


def style_line(line: str) -> str:
    """Convert the colours of a line to SVG."""
    first, *rest = _SGR.split(line)
    parts = [escape(first)]
    for codes, text in zip(rest[::2], rest[1::2], strict=True):
        style = ";".join(COLOURS[code] for code in codes.split(";") if code in COLOURS)
        parts.append(f'<tspan style="{style}">{escape(text)}</tspan>' if style and text else escape(text))
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(main())
