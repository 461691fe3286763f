"""Start Phoenix with both of its listeners on loopback. It runs in Phoenix's environment, not in ours.

PHOENIX_HOST holds for HTTP only: the gRPC listener asks for every address of the machine, whatever is set.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def main() -> None:
    """Serve until ended."""
    listener: Any = import_module("grpc.aio._server").Server
    bind = listener.add_insecure_port

    def bind_on_loopback(self: object, address: str) -> int:
        return int(bind(self, address.replace("[::]:", "127.0.0.1:")))

    listener.add_insecure_port = bind_on_loopback
    sys.argv = ["phoenix", "serve"]
    import_module("phoenix.server.main").main()


if __name__ == "__main__":
    main()
