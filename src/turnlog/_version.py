"""The version, in a module of its own so that `turnlog --version` loads nothing else."""

__version__ = "0.2.0"
