"""Compare turnlog with the real client (`make interop`); tests/interop/gate.py does the work."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Run the gate from the root of the repository, where `tests` can be imported."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tests.interop.gate import main as run_gate

    return run_gate()


if __name__ == "__main__":
    sys.exit(main())
