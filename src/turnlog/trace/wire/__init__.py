"""Spans on the wire: OTLP in protobuf, posted over HTTP, and what the backend replies."""
