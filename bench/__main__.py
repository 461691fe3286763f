"""All benchmarks: `python -m bench`."""

from __future__ import annotations

from .read import main

if __name__ == "__main__":
    main()
