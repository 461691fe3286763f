"""The tokens of an answer, in the words of each backend.

OpenTelemetry counts all that came in as input, from the cache or not; Langfuse wants what has a price of its own by
itself. What is written into the one-hour cache has one: Langfuse and MLflow have a word for it, OpenTelemetry none.
"""

from __future__ import annotations

from turnlog.session.messages import Message
from turnlog.session.usage.iterations import SeparateRequest
from turnlog.session.usage.prices import PricedTokens
from turnlog.trace.spans.parts import to_json_text
from turnlog.trace.spans.span import AttributeValue

_MAX_TOKENS = 1 << 53


def build_usage_attributes(message: Message) -> dict[str, AttributeValue]:
    """The attributes that say what an answer used, and how far that can be believed."""
    found: dict[str, AttributeValue] = {}
    if message.quality != "final":
        found["claude_code.usage_quality"] = message.quality
    if message.terms is not None and message.terms.speed == "fast":
        found["langfuse.observation.model.parameters"] = '{"speed":"fast"}'
    if message.tokens is not None:
        found |= _build_count_attributes(PricedTokens(*map(clamp_count, message.tokens)))
    return found


def build_separate_usage_attributes(request: SeparateRequest) -> dict[str, AttributeValue]:
    """The same for a request that was billed beside an answer."""
    return _build_count_attributes(PricedTokens(*map(clamp_count, request.tokens)))


def clamp_count(number: int) -> int:
    """A number that fits into 64 bits together with others of its kind."""
    return max(0, min(number, _MAX_TOKENS))


def _build_count_attributes(tokens: PricedTokens) -> dict[str, AttributeValue]:
    written = tokens.cache_write_5m + tokens.cache_write_1h
    total = tokens.input + tokens.cache_read + written
    found: dict[str, AttributeValue] = {
        "gen_ai.usage.input_tokens": total,
        "gen_ai.usage.output_tokens": tokens.output,
        "gen_ai.usage.cache_read.input_tokens": tokens.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": written,
        "langfuse.observation.usage_details": to_json_text(_split_by_price(tokens)),
    }
    if tokens.cache_write_1h:
        # Only then: MLflow makes the same out of the counts above, all but the last.
        used = {
            "input_tokens": total,
            "output_tokens": tokens.output,
            "total_tokens": total + tokens.output,
            "cache_read_input_tokens": tokens.cache_read,
            "cache_creation_input_tokens": written,
            "cache_creation_input_tokens_above_1hr": tokens.cache_write_1h,
        }
        found["mlflow.chat.tokenUsage"] = to_json_text(used)
    return found


def _split_by_price(tokens: PricedTokens) -> dict[str, int]:
    cached = {
        "input_cached_tokens": tokens.cache_read,
        "input_cache_creation_5m": tokens.cache_write_5m,
        "input_cache_creation_1h": tokens.cache_write_1h,
    }
    return {"input": tokens.input, "output": tokens.output, **{name: count for name, count in cached.items() if count}}
