"""Generate the conformance set for counting usage: `python scripts/make_usage_cases.py [FOLDER]`.

Everything in it is made up, and every run produces the same bytes. FOLDER defaults to tests/data/usage.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def write_cases(target: Path) -> None:
    """Replace all cases in a folder, but keep its README."""
    from usage_cases.cases import build_all_cases, format_expected

    for folder in [path for path in target.glob("*") if path.is_dir()]:
        shutil.rmtree(folder)
    for case in build_all_cases():
        for name, data in case.files.items():
            file = target / case.name / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        (target / case.name / "expected.json").write_text(format_expected(case.expected_result), encoding="utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "scripts"))
    write_cases(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "tests/data/usage")
