"""Measure the redaction and any installed peers: planted secrets found, false alarms and speed.

    python scripts/redact_recall.py [FOLDER OF SESSIONS WITHOUT SECRETS] [FOLDER OF CODE ...]

The first lines report the cases in `tests/redact/cases`, whose author had not read the rules, and the false alarms in
folders of code.

Peers (detect-secrets, redact-transcripts, redactcli, secrethider) are measured if they can be imported; the project
does not depend on them.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.redact.cases import EVERYDAY, FURTHER, FURTHER_HARMLESS, HARMLESS  # noqa: E402 - found by the path above
from tests.redact.plants import CLEAN, Plant, plants  # noqa: E402 - found by the path above
from turnlog.redact.redactor import Redactor  # noqa: E402 - found by the path above
from turnlog.redact.rules import SecretRules  # noqa: E402 - found by the path above

CODE = frozenset(
    {".py", ".pyi", ".js", ".mjs", ".cjs", ".ts", ".json", ".md", ".html", ".css", ".h", ".c", ".go", ".rs"}
)
SESSIONS = ROOT / "tests" / "data" / "sessions"
Finder = Callable[[str], "list[str] | str"]
"""Returns either the secrets found in a string or the string without them."""


def main() -> int:
    """Print the table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS
    print_cases()
    for code in sys.argv[2:]:
        print_alarms(Path(code))
    planted = [*plants(seed=1, rounds=2)]
    texts = [*iterate_strings(folder)]
    size = sum(map(len, texts)) / 1e6
    print(f"{len(planted)} planted secrets, {len(CLEAN)} strings that only look like secrets,")
    print(f"{len(texts)} strings from sessions ({size:.1f} million characters)")
    print()
    print(f"{'':20} {'found':>15} {'false alarms':>14} {'in sessions':>12} {'M characters/s':>15}")
    keyword = re.compile("password").search
    start = time.perf_counter()
    for text in texts:
        keyword(text)
    print(f"{'re.search, one word':20} {'':15} {'':14} {'':12} {size / (time.perf_counter() - start):15.1f}")
    missed: dict[str, Counter[str]] = {}
    for name, make in list_finders():
        try:
            finder = make()
        except ImportError:
            print(f"{name:20} not installed")
            continue
        misses = [plant for plant in planted if not finds_secret(finder, plant)]
        missed[name] = Counter(f"{plant.kind}, {plant.place}" for plant in misses)
        alarms = sum(raises_alarm(finder, text) for text in CLEAN)
        session_finder = Redactor().redact_text if name == "turnlog" else finder
        start = time.perf_counter()
        in_sessions = sum(raises_alarm(session_finder, text) for text in texts)
        speed = size / (time.perf_counter() - start)
        share = f"{len(planted) - len(misses)} ({100 * (1 - len(misses) / len(planted)):.1f} %)"
        print(f"{name:20} {share:>15} {alarms:>8} of {len(CLEAN)} {in_sessions:12} {speed:15.2f}")
    for name, places in missed.items():
        kinds = Counter(place.partition(",")[0] for place in places.elements())
        print(f"\n{name} missed: {', '.join(f'{kind} {count}' for kind, count in kinds.most_common(8)) or 'nothing'}")
    return 0


def print_cases() -> None:
    """Print how many everyday secrets are found, and how many look-alikes are mistaken for secrets."""
    for name, secrets, harmless in (("everyday", EVERYDAY, HARMLESS), ("further", FURTHER, FURTHER_HARMLESS)):
        missed = [case.name for case in secrets if not case.is_safe(Redactor().redact_text(case.text))]
        alarms = [case.name for case in harmless if Redactor().redact_text(case.text) != case.text]
        print(
            f"{name} secrets: {len(secrets) - len(missed)} of {len(secrets)} found; missed: {', '.join(missed) or '-'}"
        )
        print(f"{name} look-alikes: {len(alarms)} false alarms in {len(harmless)}: {', '.join(alarms) or '-'}")


def print_alarms(folder: Path) -> None:
    """Print how many alarms the rules raise for the code in a folder."""
    rules, size, alarms = SecretRules(), 0, 0
    for path in sorted(folder.rglob("*")):
        if path.suffix in CODE and path.is_file():
            redactor = Redactor(rules)
            text = path.read_text("utf-8", "replace")
            redactor.redact_text(text)
            size, alarms = size + len(text), alarms + redactor.build_report().replacement_count
    print(
        f"{folder}: {alarms} alarms in {size / 1e6:.1f} million characters, {alarms / max(size / 1e6, 1e-6):.2f} each"
    )


def finds_secret(finder: Finder, plant: Plant) -> bool:
    """Return whether a finder finds a planted secret."""
    result = finder(plant.text)
    return plant.secret not in result if isinstance(result, str) else any(plant.secret in item for item in result)


def raises_alarm(finder: Finder, text: str) -> bool:
    """Return whether a finder finds anything in a string."""
    result = finder(text)
    return result != text if isinstance(result, str) else bool(result)


def list_finders() -> Iterator[tuple[str, Callable[[], Finder]]]:
    """List turnlog and its peers."""
    yield "turnlog", build_turnlog_finder
    yield "detect-secrets", load_detect_secrets
    yield "redact-transcripts", load_redact_transcripts
    yield "redactcli", load_redactcli
    yield "secrethider", load_secrethider


def build_turnlog_finder() -> Finder:
    """Build a finder that handles each secret separately, without learning from the others."""
    return lambda text: Redactor().redact_text(text)


def load_detect_secrets() -> Finder:
    """Load Yelp's scanner with all its detectors, which scans a file."""
    scan_file = import_module("detect_secrets.core.scan").scan_file
    settings = import_module("detect_secrets.settings").default_settings
    path = Path(mkdtemp()) / "text.txt"

    def find_secrets(text: str) -> list[str]:
        path.write_text(text, encoding="utf-8", errors="replace")
        with settings():
            return [secret.secret_value or "" for secret in scan_file(str(path))]

    return find_secrets


def load_redact_transcripts() -> Finder:
    """Load a redactor for transcripts."""
    redact: Any = import_module("redact_transcripts").redact_text
    return lambda text: _extract_text(redact(text))


def load_redactcli() -> Finder:
    """Load a redactor for the output of agents."""
    redact: Any = import_module("redactcli").redact_text
    return lambda text: _extract_text(redact(text))


def load_secrethider() -> Finder:
    """Load a redactor for logs, written in C++."""
    redactor: Any = import_module("secrethider").RedactorBuilder().build()
    return lambda text: _extract_text(redactor.redact(text))


def _extract_text(result: Any) -> str:
    if isinstance(result, tuple):
        result = result[0]
    return str(getattr(result, "text", result))


def iterate_strings(folder: Path) -> Iterator[str]:
    """Iterate over every string in the sessions in a folder."""
    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                yield from _walk_strings(json.loads(line))
            except ValueError:
                continue


def _walk_strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _walk_strings(item)


if __name__ == "__main__":
    raise SystemExit(main())
