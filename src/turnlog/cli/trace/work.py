"""`turnlog trace work`: the worker that the hook starts in the background."""

from __future__ import annotations

import click


@click.command(hidden=True)
def work() -> None:
    """Handle the hook's requests and send the spans in the outbox.

    The worker has no terminal; to see its errors, run `turnlog hook status`.
    """
    import os

    from turnlog.api.config import load_config, trace_dir
    from turnlog.trace import trouble
    from turnlog.trace.hook import hash_surroundings
    from turnlog.trace.targets.targets import list_configured_targets
    from turnlog.trace.worker import WorkerJob, run_worker

    if hasattr(os, "nice"):
        os.nice(10)
    folder = trace_dir()
    try:
        config = load_config()
        job = WorkerJob(
            folder,
            hash_surroundings(dict(os.environ)),
            lambda names: list_configured_targets(config.trace, os.environ, names),
        )
        report = run_worker(job)
    except Exception as error:
        trouble.write_trouble(folder, trouble.describe_error(error))
        raise
    trouble.write_trouble(folder, report.troubles[-1] if report.troubles else None)
