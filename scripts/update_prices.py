"""Write src/turnlog/session/usage/prices.json and the table in docs/prices.md from published packages.

Run it by hand: `python scripts/update_prices.py FOLDER`. Packages that are missing from FOLDER are fetched with pip and
npm. To use newer prices, change PINS (the date is that of the release in the registry) and run the script again; then
read the differences that it prints, and the diff of prices.json.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tarfile
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from turnlog.session.usage.prices import parse_model_name  # noqa: E402 - found by the path above

JSON_FILE = ROOT / "src/turnlog/session/usage/prices.json"
DOCS_FILE = ROOT / "docs/prices.md"


class Pin(NamedTuple):
    """One source: its name here, the package that contains it, and the date of that release."""

    name: str
    client: str
    package: str
    version: str
    date: str


# In order of precedence.
PINS = (
    Pin("claude-code", "npm", "@anthropic-ai/claude-code-linux-x64", "2.1.325", "2026-11-13"),
    Pin("litellm", "pip", "litellm", "1.108.4", "2026-11-09"),
    Pin("genai-prices", "pip", "genai-prices", "0.2.1", "2026-10-30"),
    Pin("ccusage", "npm", "@ccusage/ccusage-linux-x64", "20.0.24", "2026-09-22"),
    # The newest tables omit retired models; this release still has them.
    Pin("litellm-2025", "pip", "litellm", "1.80.0", "2025-11-16"),
)

KINDS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
FACTORS = ("fast", "batch", "us", "regional", "gov", "web_search_per_1000")
LIMITS = ("context_window", "max_window", "max_output")

# The client has these in its code, not in its catalogue: the price of fast mode by model, as a multiple of all
# rates, and 1.1 for `inference_geo` "us".
CLIENT_FAST = {
    "claude-opus-4-6": 6,
    "claude-opus-4-7": 6,
    "claude-opus-4-8": 2,
    "claude-opus-5": 2,
    "claude-opus-5-5": 2,
    "claude-fable-5-2": 2,
    "claude-mythos-5-2": 2,
}
CLIENT_US = {"claude-fable-5-2": 1.1, "claude-mythos-5-2": 1.1}

# Other vendors whose endpoints people use with Claude Code: litellm's name, genai-prices' name, prefix of models.
VENDORS = {"zai": ("zai", "glm-"), "minimax": ("minimax", "minimax-m"), "moonshot": ("moonshotai", "kimi-k")}

Entry = dict[str, Any]
Models = dict[str, Entry]


def to_dollars(per_token: float) -> float:
    """Convert a price per token to US dollars per million tokens, without rounding noise."""
    return tidy_number(per_token * 1_000_000)


def tidy_number(value: float) -> float:
    """Round a number to what a person would write."""
    value = round(float(value), 9)
    return int(value) if value == int(value) else value


def fetch_table(pin: Pin, folder: Path) -> bytes:
    """Return the file that contains a source's table; fetch the package into `folder` if it is missing."""
    target = folder / f"{pin.name}-{pin.version}"
    target.mkdir(parents=True, exist_ok=True)
    if not any(target.iterdir()):
        requirement = f"{pin.package}=={pin.version}" if pin.client == "pip" else f"{pin.package}@{pin.version}"
        pip = ["pip", "download", "--quiet", "--no-deps", "--dest", str(target), requirement]
        npm = ["npm", "pack", "--silent", "--pack-destination", str(target), requirement]
        subprocess.run(pip if pin.client == "pip" else npm, check=True)
    archive = next(target.iterdir())
    member_name = {
        "claude-code": "package/claude",
        "ccusage": "package/bin/ccusage",
        "genai-prices": "genai_prices/data.py",
    }.get(pin.name, "litellm/model_prices_and_context_window_backup.json")
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member_name)
    with tarfile.open(archive) as tarball:
        member = tarball.extractfile(member_name)
        assert member is not None
        return member.read()


def parse_literal(text: str) -> tuple[Any, str]:
    """Parse a JavaScript object literal at the start of `text`, and return the object and its source."""
    tokens = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")|(?P<key>[A-Za-z_]\w*)(?=:)|!(?P<bool>[01])|.', re.S)
    depth, out = 0, []
    for match in tokens.finditer(text):
        if match["key"]:
            out.append(f'"{match[0]}"')
        elif match["bool"]:
            out.append("true" if match["bool"] == "0" else "false")
        else:
            out.append(match[0])
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return json.loads("".join(out)), text[: match.end()]
    raise ValueError("the literal is not terminated")


def read_claude_code(raw: bytes) -> tuple[bytes, Models]:
    """Read the model catalogue that the client contains."""
    start = raw.index(b'{"//":"Hand-maintained baked-in model catalog')
    data, text = parse_literal(raw[start : start + 200_000].decode("utf-8", "replace"))
    models: Models = {}
    for model in data["models"]:
        key = parse_model_name(model["id"]).key
        tier = data["pricing_tiers"][model["pricing"]]
        context = model.get("context", {"window": 200_000})
        models[key] = {kind: tier[kind] for kind in KINDS} | {
            "web_search_per_1000": tidy_number(tier["web_search"] * 1000),
            "fast": CLIENT_FAST.get(key),
            "us": CLIENT_US.get(key),
            "context_window": int(context["window"]),
            "max_window": int(context.get("maximum_window", context["window"])),
            "max_output": int(model["max_output_tokens"]["upper"]),
        }
        if long := tier.get("long_prompt"):
            above = int(long["above_prompt_tokens"])
            models[key]["long_context"] = {"above": above} | {k: long[k] for k in KINDS}
    return text.encode(), models


LITELLM = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write_5m": "cache_creation_input_token_cost",
    "cache_write_1h": "cache_creation_input_token_cost_above_1hr",
}


def read_litellm(raw: bytes) -> tuple[bytes, Models]:
    """Read litellm's table: Anthropic's own entries, Vertex AI's where those are missing, and some other vendors'."""
    data = json.loads(raw)
    models: Models = {}
    for provider in ("vertex_ai-anthropic_models", "anthropic", *VENDORS):
        for key, entry in data.items():
            if entry.get("litellm_provider") != provider or not entry.get("input_cost_per_token"):
                continue
            if provider in VENDORS and not key.lower().startswith(f"{provider}/{VENDORS[provider][1]}"):
                continue
            short = key.lower().removeprefix(f"{provider}/") if provider in VENDORS else parse_model_name(key).key
            models[short] = convert_litellm_entry(entry) | ({"vendor": provider} if provider in VENDORS else {})
    for key, entry in models.items():
        entry |= find_litellm_regions(data, key)
    return raw, models


def convert_litellm_entry(entry: Entry) -> Entry:
    """Convert an entry of litellm's table to our names."""
    special = entry.get("provider_specific_entry", {})
    search = entry.get("search_context_cost_per_query", {}).get("search_context_size_medium")
    batch = entry.get("input_cost_per_token_batches")
    out: Entry = {kind: to_dollars(entry[field]) for kind, field in LITELLM.items() if entry.get(field)}
    out |= {factor: tidy_number(special[factor]) for factor in ("us", "fast") if factor in special}
    out |= {"batch": tidy_number(batch / entry["input_cost_per_token"])} if batch else {}
    out |= {"web_search_per_1000": tidy_number(search * 1000)} if search else {}
    out |= {"context_window": entry["max_input_tokens"], "max_output": entry.get("max_output_tokens")}
    for size in (100, 200, 512):
        long = {k: entry.get(f"{field}_above_{size}k_tokens") for k, field in LITELLM.items()}
        if long["input"]:
            out["long_context"] = {"above": size * 1000} | {k: to_dollars(v) for k, v in long.items() if v}
    return out


def find_litellm_regions(data: Entry, key: str) -> Entry:
    """Return the prices on Bedrock's regional endpoints, as multiples of the standard price."""
    factors: dict[str, set[float]] = {"regional": set(), "gov": set()}
    for other, entry in data.items():
        name = parse_model_name(other)
        if name.key != key or name.region in (None, "global") or "/" in other:
            continue
        plain = data.get(other.partition(".")[2])
        if plain:
            kind = "gov" if name.region == "us-gov" else "regional"
            factors[kind].add(tidy_number(round(entry["input_cost_per_token"] / plain["input_cost_per_token"], 4)))
    return {kind: max(values) for kind, values in factors.items() if values and max(values) != 1}


def read_genai_prices(raw: bytes) -> tuple[bytes, Models]:
    """Read genai-prices' generated Python module without running it."""
    module = ast.parse(raw)
    (providers,) = (node.value for node in module.body if isinstance(node, ast.AnnAssign) and node.value)
    wanted = {"anthropic": ("", "claude-")} | {their: (our, stem) for our, (their, stem) in VENDORS.items()}
    models: Models = {}
    for provider in evaluate_node(providers):
        vendor, stem = wanted.get(provider["id"], ("", "\0"))
        for model in provider["models"]:
            if model["id"].lower().startswith(stem):
                short = model["id"].lower() if vendor else parse_model_name(model["id"]).key
                models[short] = convert_genai_entry(model) | ({"vendor": vendor} if vendor else {})
    return raw, models


def evaluate_node(node: ast.AST) -> Any:
    """Evaluate a literal; a constructor call becomes a dict of its arguments."""
    match node:
        case ast.Constant(value):
            return value
        case ast.List(elts):
            return [evaluate_node(item) for item in elts]
        case ast.Dict(keys, values):
            return {evaluate_node(k): evaluate_node(v) for k, v in zip(keys, values, strict=True) if k}
        case ast.Call(func=ast.Name("Decimal"), args=[ast.Constant(str(value))]):
            return tidy_number(float(value))
        case ast.Call(func=ast.Attribute(attr="date"), args=args):
            return "-".join(f"{evaluate_node(arg):02}" for arg in args)
        case ast.Call(keywords=keywords):
            return {word.arg: evaluate_node(word.value) for word in keywords}
    return None


GENAI = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
}


def convert_genai_entry(model: Entry) -> Entry:
    """Convert a model of genai-prices to our names; a discontinued tier keeps the date on which it ended."""
    history = model["prices"] if isinstance(model["prices"], list) else [{"prices": model["prices"]}]
    out: Entry = {}
    for step in history:
        prices = step["prices"]
        start = step.get("constraint", {}).get("start_date")
        long = {k: prices[f]["tiers"][0] for k, f in GENAI.items() if isinstance(prices.get(f), dict)}
        base = {k: prices[f]["base"] if k in long else prices[f] for k, f in GENAI.items() if prices.get(f)}
        if "long_context" in out and not long:
            out["long_context"]["until"] = start
        out |= base
        if long:
            tier = {k: v["price"] for k, v in long.items()}
            out["long_context"] = {"above": long["input"]["start"]} | tier
        if search := prices.get("web_searches_kcount"):
            out["web_search_per_1000"] = search
    if any(v["when"] == {"processing": "batch"} for v in model.get("price_variants", [])):
        batch = model["price_variants"][0]["prices"]["output_mtok"]
        out["batch"] = tidy_number((batch["base"] if isinstance(batch, dict) else batch) / out["output"])
    if model.get("context_window"):
        out["context_window"] = model["context_window"]
    return out


def read_ccusage(raw: bytes) -> tuple[bytes, Models]:
    """Read the models.dev prices that are compressed in ccusage's binary, and its overrides for fast mode."""
    text = inflate_table(raw, b'{"cost":{"')
    data = json.loads(text)
    models: Models = {}
    dated = re.compile(r"claude-(?:[a-z]+-[\d-]+|3-(?:\d-)?[a-z]+(?:-\d{8})?)$")
    for key, entry in data.items():
        vendor = next((v for v, (_, stem) in VENDORS.items() if key.lower().startswith(stem)), None)
        if (dated.match(key) or vendor) and entry["cost"].get("input"):
            short = key.lower() if vendor else parse_model_name(key).key
            models.setdefault(short, convert_models_dev_entry(entry) | ({"vendor": vendor} if vendor else {}))
    start = raw.index(b'{\n\t"exact": {')
    overrides, _ = json.JSONDecoder().raw_decode(raw[start : start + 2000].decode("utf-8", "replace"))
    for key, factor in overrides["normalized_prefix"].items():
        models[key]["fast"] = tidy_number(factor)
    return text, models


def convert_models_dev_entry(entry: Entry) -> Entry:
    """Convert a model of models.dev to our names."""
    fields = {kind: kind for kind in KINDS[:3]} | {"cache_write_5m": "cache_write"}
    price = entry["cost"]
    out: Entry = {k: tidy_number(price[w]) for k, w in fields.items() if price.get(w)}
    out["context_window"] = entry["limit"]["context"]
    for tier in price.get("tiers", []):
        rates = {k: tidy_number(tier[w]) for k, w in fields.items() if w in tier}
        out["long_context"] = {"above": tier["tier"]["size"]} | rates
    return out


def inflate_table(raw: bytes, marker: bytes) -> bytes:
    """Return the largest raw deflate stream in a binary that contains a JSON object with `marker` near its start."""
    best = b""
    # A deflate block with its own Huffman codes has the type bits 10 after the final-block bit.
    for start in (i for i, byte in enumerate(raw) if byte >> 1 & 3 == 2):
        try:
            head = zlib.decompressobj(-15).decompress(raw[start : start + 1024], 200)
            if head[:2] == b'{"' and marker in head:
                best = max(best, zlib.decompressobj(-15).decompress(raw[start:]), key=len)
        except zlib.error:
            continue
    return best


READERS = {
    "claude-code": read_claude_code,
    "litellm": read_litellm,
    "genai-prices": read_genai_prices,
    "ccusage": read_ccusage,
    "litellm-2025": read_litellm,
}


def merge_tables(tables: dict[str, Models]) -> Models:
    """Merge the tables: each figure comes from the first source that has it, and differing figures are recorded."""
    merged: Models = {}
    for key in sorted({key for models in tables.values() for key in models}):
        entries = {source: models[key] for source, models in tables.items() if key in models}
        vendor = next((entry["vendor"] for entry in entries.values() if "vendor" in entry), "anthropic")
        entry = combine_entries(entries, vendor)
        if vendor == "anthropic" and "cache_read" not in entry["assumed"]:
            merged[key] = entry
        # The price of an open model is used only if two sources agree on it.
        is_confirmed = len(entries) > 1 and entry["context_window"]
        if vendor != "anthropic" and is_confirmed and not {"input", "output"} & set(entry["differs"]):
            merged[key] = entry
    return merged


def combine_entries(entries: Models, vendor: str) -> Entry:
    """Combine what several sources say about one model into one entry."""
    out: Entry = {}
    differs: Entry = {}
    for field in (*KINDS, *FACTORS, *LIMITS):
        values = {s: entry[field] for s, entry in entries.items() if entry.get(field) is not None}
        out[field] = next(iter(values.values()), None)
        if field not in LIMITS and len(set(values.values())) > 1:
            differs[field] = values
    if vendor == "anthropic":
        out["batch"] = 0.5
    else:
        # litellm gives some vendors' models the window of their largest sibling.
        windows = [entries.get(s, {}).get("context_window") for s in ("genai-prices", "ccusage", "litellm")]
        out["context_window"] = next((w for w in windows if w), None)
    out["max_window"] = out["max_window"] or out["context_window"]
    assumed = assume_prices(out, vendor)
    long, other = merge_long_context(entries, vendor)
    if other:
        differs["long_context"] = other
    agree = None if len(entries) == 1 else not differs
    tail = {"from": list(entries), "agree": agree, "differs": differs, "assumed": list(assumed)}
    return out | assumed | {"long_context": long, "vendor": vendor} | tail


def assume_prices(prices: Entry, vendor: str) -> Entry:
    """Estimate unpublished prices: by Anthropic's usual ratios, or from the nearest known price of another vendor."""
    price = prices["input"]
    if vendor == "anthropic":
        guess = {"cache_read": price * 0.1, "cache_write_5m": price * 1.25, "cache_write_1h": price * 2}
    else:
        write = prices["cache_write_5m"] or price
        guess = {"cache_read": price, "cache_write_5m": price, "cache_write_1h": write}
    return {kind: tidy_number(value) for kind, value in guess.items() if prices[kind] is None}


def merge_long_context(entries: Models, vendor: str) -> tuple[Entry | None, Entry]:
    """Return the long-context tier and the sources that disagree; a tier that ended on a known date doesn't count."""
    tiers = {source: entry["long_context"] for source, entry in entries.items() if "long_context" in entry}
    if not tiers:
        return None, {}
    first = max(tiers.values(), key=len)
    tier = {"above": first["above"], "until": first.get("until")} | {k: first.get(k) for k in KINDS}
    tier |= assume_prices(tier, vendor)
    descriptions = {s: f"{t['input']}/{t['output']} above {t['above']}" for s, t in tiers.items()}
    silent = {source: "flat" for source in entries if source not in tiers}
    other = descriptions | silent if len(set(descriptions.values()) | set(silent.values())) > 1 else {}
    return tier | {"from": list(tiers)}, {} if tier["until"] else other


def format_json(models: Models, sources: list[Entry]) -> str:
    """Format the table as JSON, with a few lines per model so that diffs are easy to read."""
    rows = (KINDS, ("long_context",), FACTORS, LIMITS, ("vendor", "from", "agree"), ("differs", "assumed"))
    lines = ["{", f' "date": {json.dumps(max(pin.date for pin in PINS))},', ' "sources": [']
    lines += [",\n".join(f"  {json.dumps(source)}" for source in sources), " ],", ' "models": {']
    blocks = []
    for key, entry in models.items():
        body = (", ".join(f"{json.dumps(f)}: {json.dumps(entry[f])}" for f in row) for row in rows)
        blocks.append(f"  {json.dumps(key)}: {{\n   " + ",\n   ".join(body) + "\n  }")
    return "\n".join([*lines, ",\n".join(blocks), " }", "}", ""])


def format_markdown(models: Models) -> str:
    """Format the table for the documentation."""
    names = "model|input|output|cache read|5 m write|1 h write|long context|fast|window|sources|agree"
    rows = ["| " + names.replace("|", " | ") + " |", "|---|" + "--:|" * 5 + "---|--:|--:|---|---|"]
    marks = {pin.name: letter for pin, letter in zip(PINS, "CLGUO", strict=True)}
    for key, entry in models.items():
        tier = entry["long_context"]
        long = f"{tier['input']} / {tier['output']} above {tier['above'] // 1000}k" if tier else ""
        long += f" until {tier['until']}" if tier and tier["until"] else ""
        sizes = dict.fromkeys(f"{entry[k] / 1000:g}k" for k in ("context_window", "max_window"))
        agree = {True: "yes", False: "no", None: "one source"}[entry["agree"]]
        marked = [f"{entry[k]}{'*' if k in entry['assumed'] else ''}" for k in KINDS]
        fast = f"{entry['fast']}x" if entry["fast"] else ""
        from_ = "".join(marks[source] for source in entry["from"])
        cells = [f"`{key}`", *marked, long, fast, " / ".join(sizes), from_, agree]
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main() -> None:
    """Read all sources, write the table and its documentation, and print the differences."""
    folder = Path(sys.argv[1])
    tables, sources = {}, []
    for pin in PINS:
        table, tables[pin.name] = READERS[pin.name](fetch_table(pin, folder))
        package = {"name": pin.name, "package": pin.package, "version": pin.version, "date": pin.date}
        sources.append(package | {"sha256": sha256(table).hexdigest()})
    models = merge_tables(tables)
    JSON_FILE.write_text(format_json(models, sources), encoding="utf-8")
    before, mark, rest = DOCS_FILE.read_text(encoding="utf-8").partition("<!-- table -->\n")
    after = rest.partition("<!-- end of table -->")[2]
    text = f"{before}{mark}{format_markdown(models)}\n<!-- end of table -->{after}"
    DOCS_FILE.write_text(text, encoding="utf-8")
    for key, entry in models.items():
        for field, values in entry["differs"].items():
            print(f"{key}: {field}: {values}")


if __name__ == "__main__":
    main()
