"""The price table and what it makes tokens cost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from decimal import Decimal
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnlog.session.usage.prices import (
    Cost,
    CostParts,
    PricedTokens,
    Rates,
    compute_cost,
    find_context_window,
    find_price,
    hash_price_table,
    load_price_table,
    parse_model_name,
)

ROOT = Path(__file__).resolve().parents[2]
LAB = ROOT.parent / "shared" / "corpus" / "lab"

CENSUS = {
    "claude-opus-4-5-20251101": (5, 25),
    "claude-opus-4-6": (5, 25),
    "claude-opus-5": (5, 25),
    "claude-opus-4-7": (5, 25),
    "claude-sonnet-4-5-20250929": (3, 15),
    "claude-sonnet-5": (2, 10),
    "claude-opus-4-8": (5, 25),
    "claude-sonnet-4-20250514": (3, 15),
    "claude-fable-5": (10, 50),
    "claude-opus-4-20250514": (15, 75),
    "claude-sonnet-4-6": (3, 15),
    "claude-haiku-4-5-20251001": (1, 5),
    "claude-opus-4-1-20250805": (15, 75),
    "claude-opus-4-6-thinking": (5, 25),
    "glm-5": (1, 3.2),
    "MiniMax-M2.5": (0.3, 1.2),
    "glm-4.7": (0.6, 2.2),
    "glm-5.1": (1.4, 4.4),
    "claude-3-5-haiku-20241022": (0.8, 4),
}


def usd(model: str | None, tokens: PricedTokens, **how: str | None) -> float | None:
    return compute_cost(model, tokens, **how).usd


def raw() -> dict[str, Any]:
    text = files("turnlog.session.usage").joinpath("prices.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


@pytest.mark.parametrize(("model", "prices"), CENSUS.items())
def test_a_model_seen_in_real_sessions_has_its_list_price(model: str, prices: tuple[float, float]) -> None:
    million = 1_000_000
    assert usd(model, PricedTokens(output=million)) == prices[1]
    assert usd(model, PricedTokens(input=100_000)) == pytest.approx(prices[0] / 10, rel=1e-15)


def test_each_kind_of_token_has_its_own_price() -> None:
    tokens = PricedTokens(1_000, 2_000, 30_000, 4_000, 5_000, 6)
    result = compute_cost("claude-opus-4-8", tokens)
    # 5, 25, 0.5, 6.25 and 10 dollars per million, 10 dollars per thousand searches.
    assert result.parts == CostParts(
        5_000_000_000, 50_000_000_000, 15_000_000_000, 25_000_000_000, 50_000_000_000, 60_000_000_000
    )
    assert result.usd == 0.205
    assert result.pico == sum(result.parts)


def test_a_one_hour_write_costs_more_than_a_five_minute_write() -> None:
    assert usd("claude-opus-4-5", PricedTokens(cache_write_5m=1000)) == 0.00625
    assert usd("claude-opus-4-5", PricedTokens(cache_write_1h=1000)) == 0.01


@pytest.mark.parametrize(
    ("model", "read"),
    [
        ("claude-sonnet-5", 0.2),
        ("claude-sonnet-5-5", 0.1),
        ("claude-opus-5-5", 0.2),
        ("claude-fable-5-1", 0.25),
    ],
)
def test_a_cache_read_is_not_always_a_tenth_of_the_input(model: str, read: float) -> None:
    assert usd(model, PricedTokens(cache_read=1_000_000)) == read


def test_the_long_context_tier_begins_above_its_limit_for_the_whole_request() -> None:
    at = PricedTokens(input=100_000, output=1_000, cache_read=60_000, cache_write_5m=30_000, cache_write_1h=10_000)
    above = at._replace(input=100_001)
    assert usd("claude-sonnet-4-5", at) == pytest.approx(0.3 + 0.015 + 0.018 + 0.1125 + 0.06)
    assert usd("claude-sonnet-4-5", above) == pytest.approx(0.600006 + 0.0225 + 0.036 + 0.225 + 0.12)


@pytest.mark.parametrize("part", ["input", "cache_read", "cache_write_5m", "cache_write_1h"])
def test_every_part_of_the_prompt_counts_for_the_tier_and_the_output_does_not(part: str) -> None:
    rate = getattr(load_price_table().models["claude-sonnet-4"].rates, part)
    flat = compute_cost("claude-sonnet-4", PricedTokens(**{part: 200_000}))
    tiered = compute_cost("claude-sonnet-4", PricedTokens(**{part: 200_001}))
    assert flat.pico == int(rate * 1_000_000) * 200_000
    assert tiered.pico == int(rate * 2 * 1_000_000) * 200_001
    assert usd("claude-sonnet-4", PricedTokens(output=200_001)) == 200_001 * 15 / 1_000_000


def test_the_tier_of_a_small_model_begins_elsewhere() -> None:
    assert usd("claude-haiku-5-5", PricedTokens(input=100_000)) == 0.01
    assert usd("claude-haiku-5-5", PricedTokens(input=100_001)) == 0.0500005


@pytest.mark.parametrize(
    ("at", "dollars"),
    [("2026-03-12T23:59:59.999Z", 3.0), ("2026-03-13T00:00:00.000Z", 1.5), ("2026-11-01", 1.5), (None, 1.5)],
)
def test_a_tier_that_was_given_up_holds_for_requests_before_that_day(at: str | None, dollars: float) -> None:
    assert usd("claude-opus-4-6", PricedTokens(input=300_000), at=at) == dollars


def test_a_model_with_flat_prices_has_no_tier() -> None:
    assert usd("claude-opus-4-7", PricedTokens(input=900_000), at="2026-01-01") == 4.5


@pytest.mark.parametrize(
    "model",
    [
        None,
        "",
        "claude-opus-9",
        "claude-opus-4-9",
        "claude-opus-44",
        "claude-opus",
        "claude-opus-latest",
        "claude-",
        "opus",
        "gpt-5",
        "qwen3-coder:30b",
        "nvidia/nemotron-3-super-120b-a12b-20230311:free",
        "openrouter/z-ai/glm-5",
        "somebody/glm-5",
        "[1m]",
    ],
)
def test_an_unknown_model_is_unpriced_never_free(model: str | None) -> None:
    assert compute_cost(model, PricedTokens(1, 1)) == Cost(None)
    assert usd(model, PricedTokens()) is None
    assert find_price(model) is None


def test_a_synthetic_message_is_free_and_not_unpriced() -> None:
    assert usd("<synthetic>", PricedTokens(5, 5)) == 0.0


def test_a_web_search_has_its_own_fee_which_no_multiplier_touches() -> None:
    searches = PricedTokens(web_searches=3)
    assert usd("claude-opus-5", searches) == 0.03
    assert usd("claude-opus-5", searches, speed="fast", service_tier="batch", geo="us") == 0.03


def test_a_web_search_without_a_published_fee_is_unpriced() -> None:
    assert usd("glm-5", PricedTokens(input=1_000_000)) == 1
    assert usd("glm-5", PricedTokens(input=1_000_000, web_searches=1)) is None


@pytest.mark.parametrize(
    ("model", "dollars"),
    [("claude-opus-4-6", 30), ("claude-opus-4-7", 30), ("claude-opus-4-8", 10), ("claude-opus-5-5", 8)],
)
def test_fast_mode_has_a_premium(model: str, dollars: float) -> None:
    assert usd(model, PricedTokens(input=100_000), speed="fast") == dollars / 10
    assert usd(model, PricedTokens(input=100_000), speed="standard") != dollars / 10
    assert usd(f"anthropic/{model}-fast", PricedTokens(input=100_000)) == dollars / 10


def test_fast_mode_without_a_published_price_is_unpriced() -> None:
    assert usd("claude-sonnet-4-5", PricedTokens(1), speed="fast") is None
    assert usd("claude-sonnet-4-5", PricedTokens(1), speed="fast", service_tier="batch") is None


def test_a_batch_costs_half() -> None:
    assert usd("claude-sonnet-5", PricedTokens(1000, 1000), service_tier="batch") == 0.006
    assert usd("claude-sonnet-5", PricedTokens(1000, 1000), service_tier="standard") == 0.012
    assert usd("glm-5", PricedTokens(1), service_tier="batch") is None


def test_inference_in_the_us_costs_more_where_a_table_says_so() -> None:
    tokens = PricedTokens(input=100_000)
    assert usd("claude-opus-4-6", tokens, geo="us") == 0.55
    assert usd("claude-opus-4-6", tokens, geo="global") == 0.5
    assert usd("claude-opus-4-5", tokens, geo="us") == 0.5


@pytest.mark.parametrize(
    ("prefix", "dollars"),
    [("", 0.5), ("global.", 0.5), ("us.", 0.55), ("eu.", 0.55), ("apac.", 0.55), ("us-gov.", 0.6)],
)
def test_a_regional_bedrock_endpoint_has_a_premium(prefix: str, dollars: float) -> None:
    model = f"{prefix}anthropic.claude-opus-4-8"
    assert usd(model, PricedTokens(input=100_000)) == dollars
    if prefix not in ("", "global."):
        assert usd(model, PricedTokens(input=100_000), geo="us") == dollars, "one place, one premium"


def test_the_premium_of_a_region_is_not_that_of_us_only_inference() -> None:
    assert usd("us.anthropic.claude-opus-4-5-20251101-v1:0", PricedTokens(input=100_000)) == 0.55
    assert usd("claude-opus-4-5-20251101", PricedTokens(input=100_000), geo="us") == 0.5


def test_a_regional_endpoint_without_a_published_premium() -> None:
    assert usd("us.anthropic.claude-opus-4-20250514-v1:0", PricedTokens(input=100_000)) == 1.5
    assert usd("us-gov.anthropic.claude-opus-4-20250514-v1:0", PricedTokens(input=100_000)) is None


@pytest.mark.parametrize(
    ("model", "key"),
    [
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("claude-opus-4-6-thinking", "claude-opus-4-6"),
        ("claude-opus-4-6-20260205-thinking", "claude-opus-4-6"),
        ("claude-opus-4-0", "claude-opus-4"),
        ("claude-opus-4@20250514", "claude-opus-4"),
        ("claude-opus-4-7@default", "claude-opus-4-7"),
        ("claude-3-5-sonnet-v2@20241022", "claude-3-5-sonnet"),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-sonnet-3.7", "claude-3-7-sonnet"),
        ("claude-4-5-haiku", "claude-haiku-4-5"),
        ("claude-4-sonnet-20250514", "claude-sonnet-4"),
        ("claude-5-opus", "claude-opus-5"),
        ("Claude-Opus-5 ", "claude-opus-5"),
        ("claude-opus-5-2026-07-01", "claude-opus-5"),
        ("anthropic.claude-3-5-haiku-20241022-v1:0", "claude-3-5-haiku"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("global.anthropic.claude-opus-4-6-v1", "claude-opus-4-6"),
        ("bedrock/us-east-1/anthropic.claude-3-haiku-20240307-v1:0", "claude-3-haiku"),
        ("arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-opus-4-8", "claude-opus-4-8"),
        ("vertex_ai/claude-haiku-4-5@20251001", "claude-haiku-4-5"),
        ("anthropic/claude-opus-4.8", "claude-opus-4-8"),
        ("openrouter/anthropic/claude-sonnet-4.5:thinking", "claude-sonnet-4-5"),
        ("databricks/databricks-claude-sonnet-5", "claude-sonnet-5"),
        ("anthropic--claude-4.6-opus", "claude-opus-4-6"),
        ("zai/GLM-4.7", "glm-4.7"),
        ("glm-5[1m]", "glm-5"),
    ],
)
def test_a_model_is_found_under_every_providers_name(model: str, key: str) -> None:
    price = find_price(model)
    assert price is not None
    assert price.model == key


@given(st.text())
def test_any_text_is_a_model_name(text: str) -> None:
    parse_model_name(text)
    assert compute_cost(text, PricedTokens(1, 1)).usd != 0 or text == "<synthetic>"


@pytest.mark.parametrize("key", load_price_table().models)
def test_a_tables_key_is_its_own_name(key: str) -> None:
    assert parse_model_name(key).key == key


@pytest.mark.parametrize(
    ("model", "prompt", "size"),
    [
        ("claude-opus-4-5-20251101", 0, 200_000),
        ("claude-opus-4-5-20251101", 250_000, 200_000),
        ("claude-opus-4-6", 200_000, 200_000),
        ("claude-opus-4-6", 200_001, 1_000_000),
        ("claude-opus-4-6[1m]", 0, 1_000_000),
        ("claude-sonnet-4-5", 0, 200_000),
        ("claude-opus-5", 0, 1_000_000),
        ("glm-4.7", 0, 204_800),
        ("never-heard-of", 0, None),
        ("never-heard-of[1m]", 0, 1_000_000),
        (None, 0, None),
    ],
)
def test_the_context_window(model: str | None, prompt: int, size: int | None) -> None:
    assert find_context_window(model, prompt) == size


def test_a_price_knows_where_it_comes_from() -> None:
    price = find_price("claude-opus-5")
    assert price is not None
    assert price.agree is True
    assert {"claude-code", "litellm", "genai-prices"} <= set(price.sources)
    assert {source.name for source in load_price_table().sources} >= set(price.sources)
    assert price.max_output == 128_000


def test_every_price_is_whole_and_in_proportion() -> None:
    """Rates are whole pico-dollars; Anthropic's writes are 1.25 and 2 times the input, except Haiku 3's."""
    for price in load_price_table().models.values():
        tiers = [price.rates] + ([price.long_context.rates] if price.long_context else [])
        for rates in tiers:
            assert all(rate > 0 and rate * 1_000_000 % 1 == 0 for rate in rates), price.model
            assert rates.cache_read <= rates.input <= rates.output, price.model
            if price.vendor == "anthropic":
                assert rates.cache_write_1h == 2 * rates.input, price.model
                write = Decimal("1.2") if price.model == "claude-3-haiku" else Decimal("1.25")
                assert rates.cache_write_5m == write * rates.input, price.model


def test_cache_reads_of_anthropic_cost_a_tenth_except_where_two_tables_say_less() -> None:
    less = {p.model: p.rates.cache_read / p.rates.input for p in load_price_table().models.values()}
    odd = {m: float(r) for m, r in less.items() if m.startswith("claude-") and r != Decimal("0.1")}
    assert odd == {
        "claude-3-haiku": 0.12,
        "claude-fable-5-1": 0.025,
        "claude-fable-5-2": 0.025,
        "claude-mythos-5-1": 0.025,
        "claude-mythos-5-2": 0.025,
        "claude-opus-5-5": 0.05,
        "claude-sonnet-5-5": 0.05,
    }


def test_every_entry_has_the_same_fields_and_says_who_disagrees() -> None:
    data = raw()
    known = {source["name"] for source in data["sources"]}
    fields = {frozenset(entry) for entry in data["models"].values()}
    assert len(fields) == 1
    for key, entry in data["models"].items():
        assert set(entry["from"]) <= known, key
        assert entry["agree"] is (None if len(entry["from"]) == 1 else not entry["differs"]), key
        assert entry["context_window"] <= entry["max_window"], key
        assert entry["vendor"] == "anthropic" or len(entry["from"]) > 1, key
        assert not entry["assumed"] or entry["vendor"] != "anthropic", key
    for source in data["sources"]:
        assert re.fullmatch(r"[0-9a-f]{64}", source["sha256"])
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", source["date"])
    assert data["date"] == max(source["date"] for source in data["sources"])


def test_the_digest_depends_on_the_content_only() -> None:
    assert hash_price_table('{"a": 1, "b": [2.50]}') == hash_price_table('{ "b":[2.5],\n"a":1}')
    assert hash_price_table('{"a": 1}') != hash_price_table('{"a": 2}')
    assert load_price_table().digest == hash_price_table(json.dumps(raw(), indent=3))
    assert re.fullmatch(r"[0-9a-f]{64}", load_price_table().digest)
    assert load_price_table().date >= "2026-11-13"


def test_the_documentation_has_every_model_with_its_prices() -> None:
    text = (ROOT / "docs" / "prices.md").read_text(encoding="utf-8")
    rows = {cells[1]: cells for line in text.splitlines() if len(cells := re.split(r"\*? *\| *", line)) == 13}
    for key, price in load_price_table().models.items():
        assert [Decimal(cell) for cell in rows[f"`{key}`"][2:7]] == list(price.rates)
    worked = re.search(r"costs \$([\d.]+)\.\n", text)
    assert worked is not None
    tokens = PricedTokens(12, 1_850, 96_400, 0, 2_310, 2)
    assert usd("claude-opus-5", tokens, speed="standard") == float(worked[1])


def test_importing_prices_reads_no_file() -> None:
    code = "import turnlog.session.usage.prices as p; print(p.load_price_table.cache_info().currsize)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"


def test_sums_are_exact_in_any_order() -> None:
    costs = [compute_cost("claude-haiku-5-5", PricedTokens(n, n, n)).pico or 0 for n in range(1, 2000)]
    assert sum(costs) == sum(reversed(costs)) == sum(range(1, 2000)) * (100_000 + 500_000 + 10_000)


def test_rates_are_in_the_order_of_tokens() -> None:
    assert Rates._fields == PricedTokens._fields[:5] == CostParts._fields[:5]


@pytest.mark.corpus
@pytest.mark.skipif(not LAB.is_dir(), reason="no shared corpus")
def test_the_real_client_computes_the_same() -> None:
    """Every cost that the client wrote down for a model equals ours for the tokens beside it."""
    seen = 0
    for path in LAB.rglob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            if b'"type":"cost-state"' not in line:
                continue
            for model, use in json.loads(line)["modelUsage"].items():
                hour = use.get("cacheCreationEphemeral1hInputTokens", 0)
                writes = (use["cacheCreationInputTokens"] - hour, hour)
                prompt = (use["inputTokens"], use["outputTokens"], use["cacheReadInputTokens"])
                tokens = PricedTokens(*prompt, *writes, use["webSearchRequests"])
                assert usd(model, tokens) == pytest.approx(use["costUSD"], rel=1e-9), path
                seen += 1
    assert seen
