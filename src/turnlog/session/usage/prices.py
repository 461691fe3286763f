"""Computes the cost of tokens with an offline, dated price table and exact arithmetic.

`scripts/update_prices.py` writes the table, `prices.json`, from published packages, and `docs/prices.md` states the
source of each figure. A price is the vendor's list price in US dollars per million tokens.

A model that is not in the table is *unpriced*: its cost is None, never 0. The same applies to a known model that is
used in a way that has no published price (fast mode on a model without a price for it).

Money is counted in pico-dollars (10^-12 USD). Every rate is a whole number of pico-dollars per token, so a sum over any
number of messages is exact and does not depend on their order.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from functools import cache, lru_cache
from hashlib import sha256
from math import inf
from operator import mul
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

PICO_PER_DOLLAR = 10**12
SYNTHETIC_MODEL = "<synthetic>"
MILLION_TOKEN_WINDOW = 1_000_000


class PricedTokens(NamedTuple):
    """One request's tokens grouped by price; cache writes with an unknown lifetime count as 5-minute writes."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0


class CostParts(NamedTuple):
    """A cost by kind, in pico-dollars."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_search: int = 0


class Cost(NamedTuple):
    """The cost of tokens; `pico` is None if they are unpriced."""

    pico: int | None
    parts: CostParts = CostParts()

    @property
    def usd(self) -> float | None:
        """The cost in US dollars, or None if unpriced."""
        return None if self.pico is None else self.pico / PICO_PER_DOLLAR


UNPRICED_COST = Cost(None)
FREE_COST = Cost(0)


class Rates(NamedTuple):
    """US dollars per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal
    cache_write_5m: Decimal
    cache_write_1h: Decimal


class LongContext(NamedTuple):
    """The rates for a whole request whose prompt has more than `above` tokens, if it was sent before `until`."""

    above: int
    until: str | None
    rates: Rates


class PriceSource(NamedTuple):
    """A published table that is the source of figures; `sha256` is its hash at the time when it was read."""

    name: str
    version: str
    date: str
    sha256: str


class Price(NamedTuple):
    """One model's prices, limits and provenance; None means that a multiplier has no published value."""

    model: str
    vendor: str
    rates: Rates
    long_context: LongContext | None
    fast: Decimal | None
    batch: Decimal | None
    us: Decimal | None
    regional: Decimal | None
    gov: Decimal | None
    web_search_per_1000: Decimal | None
    context_window: int
    max_window: int
    max_output: int | None
    sources: tuple[str, ...]
    agree: bool | None


class PriceTable(NamedTuple):
    """All prices, with the date when they were collected and a digest of the content."""

    date: str
    sources: tuple[PriceSource, ...]
    models: Mapping[str, Price]
    text: str
    """The JSON text of the table."""

    @property
    def digest(self) -> str:
        """The SHA-256 of the content."""
        return hash_price_table(self.text)


class ModelName(NamedTuple):
    """A parsed model id: the table's key, and what the id reveals about how the model was accessed."""

    key: str
    region: str | None = None
    million: bool = False
    fast: bool = False


_MODEL_TAG = re.compile(r"\s*\[([^\]]*)\]$")
_HOST_PREFIX = re.compile(r"^(?:(?P<region>[a-z-]+)\.)?anthropic\.|^(?:databricks-|anthropic-+)")
_MODEL_SUFFIX = re.compile(r"-(?:think(?:ing)?|latest|v\d+|\d{8}|\d{4}-\d\d-\d\d)$")
_VERSION_FIRST = re.compile(r"^claude-([4-9]|\d\d)(-\d+)?-([a-z]+)$")
_FAMILY_FIRST_3 = re.compile(r"^claude-([a-z]+)-(3(?:-\d)?)$")
_POINT_ZERO = re.compile(r"^(claude-[a-z]+-\d+)-0$")


@lru_cache(maxsize=4096)
def parse_model_name(model: str) -> ModelName:
    """Parse a model id in any provider's spelling."""
    text = model.strip().lower()
    tag = _MODEL_TAG.search(text)
    if tag:
        text = text[: tag.start()]
    million = tag is not None and tag[1] == "1m"
    last = text.rpartition("/")[2]
    if "claude-" not in last:
        return ModelName(text, million=million)
    host = _HOST_PREFIX.match(last)
    if host:
        last = last[host.end() :]
    key, fast = _find_claude_key(last)
    return ModelName(key, host["region"] if host else None, million, fast)


def _find_claude_key(text: str) -> tuple[str, bool]:
    """Return the table's key for a Claude model, without its host, and whether the name selects fast mode."""
    text = text.partition("@")[0].partition(":")[0].replace(".", "-")
    fast = text.endswith("-fast")
    text = text.removesuffix("-fast")
    while (shorter := _MODEL_SUFFIX.sub("", text)) != text:
        text = shorter
    text = _VERSION_FIRST.sub(r"claude-\3-\1\2", text)
    text = _FAMILY_FIRST_3.sub(r"claude-\2-\1", text)
    return _POINT_ZERO.sub(r"\1", text), fast


@cache
def load_price_table() -> PriceTable:
    """Load the price table of this version of turnlog."""
    text = Path(__file__).with_name("prices.json").read_text(encoding="utf-8")
    data = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    models = {key: _build_price(key, entry) for key, entry in data["models"].items()}
    sources = tuple(PriceSource(s["name"], s["version"], s["date"], s["sha256"]) for s in data["sources"])
    return PriceTable(data["date"], sources, MappingProxyType(models), text)


def hash_price_table(text: str) -> str:
    """Compute the SHA-256 of a price table's content, independent of layout and key order."""
    canonical = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(canonical.encode()).hexdigest()


def _build_price(key: str, entry: Mapping[str, Any]) -> Price:
    long = entry["long_context"]
    limit = entry["max_output"]
    return Price(
        model=key,
        vendor=entry["vendor"],
        rates=_build_rates(entry),
        long_context=long and LongContext(int(long["above"]), long["until"], _build_rates(long)),
        fast=entry["fast"],
        batch=entry["batch"],
        us=entry["us"],
        regional=entry["regional"],
        gov=entry["gov"],
        web_search_per_1000=entry["web_search_per_1000"],
        context_window=int(entry["context_window"]),
        max_window=int(entry["max_window"]),
        max_output=None if limit is None else int(limit),
        sources=tuple(entry["from"]),
        agree=entry["agree"],
    )


def _build_rates(entry: Mapping[str, Any]) -> Rates:
    return Rates(*(entry[kind] for kind in Rates._fields))


def find_price(model: str | None) -> Price | None:
    """Find the price of a model under any of its names; return None if it is not in the table."""
    if not model:
        return None
    key = parse_model_name(model).key
    models = load_price_table().models
    vendor, slash, rest = key.rpartition("/")
    price = models.get(rest)
    # Other hosts set their own prices for open models, so only the vendor's own prefix may be dropped.
    return price if price and (not slash or price.vendor == vendor) else None


def find_context_window(model: str | None, prompt: int = 0) -> int | None:
    """Return a model's context window; of two sizes, return the larger if the prompt does not fit in the smaller."""
    if model and parse_model_name(model).million:
        return MILLION_TOKEN_WINDOW
    price = find_price(model)
    if price is None:
        return None
    return price.context_window if prompt <= price.context_window else price.max_window


PicoRates = tuple[int, ...]
"""Pico-dollars per unit of each field of PricedTokens, with all multipliers applied."""


class _Tariff(NamedTuple):
    base: PicoRates
    long: PicoRates
    above: float
    until: str | None
    has_search: bool


def compute_cost(
    model: str | None,
    tokens: PricedTokens,
    *,
    speed: str | None = None,
    service_tier: str | None = None,
    geo: str | None = None,
    at: str | None = None,
) -> Cost:
    """Compute the cost of one request's tokens; `at` is its ISO time, for price tiers that have ended."""
    if model == SYNTHETIC_MODEL:
        return FREE_COST
    rates = find_pico_rates(model, tokens, speed, service_tier, geo, at)
    if rates is None:
        return UNPRICED_COST
    parts = CostParts(*map(mul, tokens, rates))
    return Cost(sum(parts), parts)


def find_pico_rates(
    model: str | None,
    tokens: PricedTokens,
    speed: str | None,
    service_tier: str | None,
    geo: str | None,
    at: str | None,
) -> PicoRates | None:
    """Return the rates at which a request is billed, or None if they are unknown."""
    tariff = _find_tariff(model, speed, service_tier, geo)
    prompt, _, cache_read, cache_write_5m, cache_write_1h, web_searches = tokens
    if tariff is None or (web_searches and not tariff.has_search):
        return None
    # The tier applies to the whole request including output, not only to the tokens above the limit.
    is_long = prompt + cache_read + cache_write_5m + cache_write_1h > tariff.above
    if is_long and (tariff.until is None or (at is not None and at < tariff.until)):
        return tariff.long
    return tariff.base


@lru_cache(maxsize=4096)
def _find_tariff(model: str | None, speed: str | None, service_tier: str | None, geo: str | None) -> _Tariff | None:
    price = find_price(model)
    if model is None or price is None:
        return None
    factor = _compute_factor(parse_model_name(model), price, speed, service_tier, geo)
    if factor is None:
        return None
    long = price.long_context
    search = round((price.web_search_per_1000 or 0) * PICO_PER_DOLLAR / 1000)
    return _Tariff(
        base=(*_to_pico_rates(price.rates, factor), search),
        long=(*_to_pico_rates(long.rates if long else price.rates, factor), search),
        above=long.above if long else inf,
        until=long.until if long else None,
        has_search=price.web_search_per_1000 is not None,
    )


def _compute_factor(
    model: ModelName, price: Price, speed: str | None, service_tier: str | None, geo: str | None
) -> Decimal | None:
    """Multiply all factors that apply to the tokens; return None if one of them has no published value."""
    factor: Decimal | None = Decimal(1)
    for applies, value in (
        (speed == "fast" or model.fast, price.fast),
        (service_tier == "batch", price.batch),
        (model.region == "us-gov", price.gov),
    ):
        if applies:
            factor = None if factor is None or value is None else factor * value
    if factor is None or model.region == "us-gov":
        return factor
    if model.region not in (None, "global"):
        return factor * (price.regional or 1)
    return factor * (price.us or 1) if geo == "us" else factor


def _to_pico_rates(rates: Rates, factor: Decimal) -> tuple[int, ...]:
    return tuple(round(rate * factor * PICO_PER_DOLLAR / 1_000_000) for rate in rates)
