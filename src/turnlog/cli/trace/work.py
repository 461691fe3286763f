"""`turnlog trace work`: what the hook starts in the background."""

from __future__ import annotations

import click


@click.command(hidden=True)
def work() -> None:
    """Serve what the hook has left, and deliver what is in the outbox.

    Nobody reads what this says; what goes wrong is shown by `turnlog hook status`.
    """
    import os

    from turnlog.cli.config import load, trace_dir
    from turnlog.trace import trouble
    from turnlog.trace.hook import surroundings
    from turnlog.trace.targets.targets import configured
    from turnlog.trace.worker import Job
    from turnlog.trace.worker import work as serve

    if hasattr(os, "nice"):
        os.nice(10)
    folder = trace_dir()
    try:
        config = load()
        job = Job(folder, surroundings(dict(os.environ)), lambda names: configured(config.trace, os.environ, names))
        report = serve(job)
    except Exception as error:
        trouble.note(folder, trouble.in_words(error))
        raise
    trouble.note(folder, report.troubles[-1] if report.troubles else None)
