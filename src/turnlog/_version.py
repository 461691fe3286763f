"""The version, alone in its module so that `turnlog --version` loads nothing else."""

__version__ = "0.2.0"
