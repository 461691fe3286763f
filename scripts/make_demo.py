"""Generate the demo sessions: `python scripts/make_demo.py [FOLDER]`.

Everything in them is made up. The rows have the shapes that real clients write (see docs/format.md), and every run
produces the same bytes. FOLDER defaults to src/turnlog/demo/claude.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_demo(target: Path) -> None:
    """Replace a folder with the made-up config folder."""
    from demo import stories

    home = stories.record_sessions()
    shutil.rmtree(target, ignore_errors=True)
    for name, content in home.files.items():
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "scripts"))
    write_demo(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "src/turnlog/demo/claude")
