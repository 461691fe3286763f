"""Spans on the wire: OTLP in protobuf, posted over HTTP, and the backend's replies."""
