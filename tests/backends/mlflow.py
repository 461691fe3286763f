"""Reads back from MLflow, through the REST API that its own client and pages use."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote

from tests.backends.seen_spans import SeenSpan, SeenTrace, Tokens, ask, nanoseconds
from turnlog.trace.spans.span import SpanKind
from turnlog.trace.targets.target import TraceTarget

KINDS: dict[str, SpanKind] = {"AGENT": "agent", "LLM": "generation", "CHAT_MODEL": "generation", "TOOL": "tool"}
FAILED = "STATUS_CODE_ERROR"


class Mlflow:
    """An MLflow server."""

    name = "mlflow"

    def __init__(self, address: str) -> None:
        self.address = address

    def target(self, project: str) -> TraceTarget:
        """Where to send; MLflow wants an experiment that is there."""
        headers = {"x-mlflow-experiment-id": self._experiment(project)}
        return TraceTarget(name="mlflow", url=f"{self.address}/v1/traces", headers=headers)

    def trace(self, project: str, trace: str) -> SeenTrace | None:
        """A trace, by its id in hexadecimal."""
        try:
            return _trace(ask(f"{self.address}/ajax-api/3.0/mlflow/traces/get?trace_id=tr-{trace}")["trace"])
        except HTTPError as error:
            if error.code == 404:
                return None
            raise

    def session(self, project: str, session: str) -> set[str]:
        """The ids of the traces that it shows as one session."""
        return {*self._search(project, f"metadata.`mlflow.trace.session` = '{session}'")}

    def list_span_ids(self, project: str) -> list[str]:
        """The ids of all spans of a project, each as often as it is there."""
        traces = (self.trace(project, trace) for trace in self._search(project))
        return [key for trace in traces if trace for key in trace.spans]

    def _experiment(self, project: str) -> str:
        try:
            answer = ask(f"{self.address}/api/2.0/mlflow/experiments/get-by-name?experiment_name={quote(project)}")
            return str(answer["experiment"]["experiment_id"])
        except HTTPError as error:
            if error.code != 404:
                raise
        return str(ask(f"{self.address}/api/2.0/mlflow/experiments/create", {"name": project})["experiment_id"])

    def _search(self, project: str, words: str = "") -> Iterator[str]:
        place = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": self._experiment(project)}}
        page = ""
        while True:
            body = {"locations": [place], "filter": words, "max_results": 100, "page_token": page}
            answer = ask(f"{self.address}/api/3.0/mlflow/traces/search", body)
            yield from (trace["trace_id"].removeprefix("tr-") for trace in answer.get("traces", []))
            page = answer.get("next_page_token")
            if not page:
                return


def _trace(found: dict[str, Any]) -> SeenTrace:
    info = found["trace_info"]
    known = info.get("trace_metadata", {})
    start = nanoseconds(info["request_time"])
    return SeenTrace(
        session=known.get("mlflow.trace.session"),
        user=known.get("mlflow.trace.user"),
        start=start,
        end=start + round(float(info["execution_duration"].removesuffix("s")) * 1000) * 10**6,
        tokens=_tokens(json.loads(known.get("mlflow.trace.tokenUsage", "{}"))),
        cost=json.loads(known.get("mlflow.trace.cost", "{}")).get("total_cost"),
        spans={_id(span["span_id"]): _span(span) for span in found.get("spans", [])},
    )


def _span(span: dict[str, Any]) -> SeenSpan:
    values = {pair["key"]: _value(pair["value"]) for pair in span["attributes"]}
    status = span.get("status", {})
    kind = KINDS[values["mlflow.spanType"]]
    asked, answered = (values.get(f"mlflow.span{way}") for way in ("Inputs", "Outputs"))
    return SeenSpan(
        parent=_id(span["parent_span_id"]) if span.get("parent_span_id") else None,
        kind=kind,
        name=span["name"],
        start=int(span["start_time_unix_nano"]),
        end=int(span["end_time_unix_nano"]),
        error=status.get("message", "") if status.get("code") == FAILED else None,
        tokens=_tokens(values.get("mlflow.chat.tokenUsage") or {}),
        cost=(values.get("mlflow.llm.cost") or {}).get("total_cost"),
        input=_messages(asked) if kind == "generation" else asked,
        output=_messages(answered) if kind == "generation" else answered,
    )


def _messages(found: Any) -> list[str]:
    """The texts of messages, and the names of the calls in them."""
    parts = [part for message in found or [] for part in message["parts"]]
    texts = (part.get("content") or part.get("response") or part.get("result") or part.get("name") for part in parts)
    return [text for text in texts if text]


def _tokens(usage: dict[str, int]) -> Tokens:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Tokens(*(usage.get(name) or 0 for name in names))


def _id(text: str) -> str:
    return base64.b64decode(text).hex()


def _value(value: dict[str, Any]) -> Any:
    """A value of OTLP as JSON writes it."""
    inner: Any
    form, inner = next(iter(value.items()), ("string_value", None))
    if form == "array_value":
        return [_value(item) for item in inner.get("values", [])]
    if form == "kvlist_value":
        return {pair["key"]: _value(pair["value"]) for pair in inner.get("values", [])}
    return int(inner) if form == "int_value" else inner
