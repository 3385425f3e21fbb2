"""The command line: a thin group; each command lives in its own module and imports late."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import sys
import warnings
from typing import Any

import click

from referee import __version__
from referee.errors import ArtifactError, InputError, RefereeError
from referee.printable import printable

COMMANDS = {
    "batch": "referee.cli_batch",
    "compile": "referee.cli_compile",
    "evaluate": "referee.cli_evaluate",
    "experiment": "referee.cli_experiment",
    "models": "referee.cli_models",
    "resolve": "referee.cli_resolve",
    "rules": "referee.cli_rules",
    "show": "referee.cli_show",
    "tune": "referee.cli_tune",
    "write": "referee.cli_write",
}


class LateGroup(click.Group):
    """Imports a command when it is used, so that ``referee --help`` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        return importlib.import_module(COMMANDS[cmd_name]).command


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="referee")
def cli() -> None:
    """Settle conflicts between sources before a language model answers.

    Results go to stdout, progress and messages to stderr. Exit codes: 0 answered, abstained or
    budget spent; 1 the language model failed; 2 usage.
    """


def main(args: list[str] | None = None) -> Any:
    """Entry point: every error on purpose becomes one sentence and an exit code."""
    _prepare()
    try:
        return cli.main(args=args, prog_name="referee", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.Abort:
        click.echo("Interrupted.", err=True)
        sys.stdout.flush()
        # Worker threads may wait for a server for minutes, and a normal exit would join them.
        os._exit(130)
    except (click.ClickException, RefereeError) as error:
        _say(error)
        usage = isinstance(error, (InputError, ArtifactError))
        sys.exit(2 if usage else getattr(error, "exit_code", 1))
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing more to say, to anyone.
        os._exit(0)
    except OSError as error:
        with contextlib.suppress(OSError):
            click.echo(f"Error: the output cannot be written ({error.strerror}).", err=True)
        sys.exit(1)


def _prepare() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character gets its escape instead of an error.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # What these say is for programmers: tracebacks of handled failures, notes on cut replies.
    for name in ("LiteLLM", "dspy.clients.lm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # litellm makes pydantic warn about its own types; a user can do nothing about it.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic\.")


def _say(error: Exception) -> None:
    with contextlib.suppress(OSError):
        if isinstance(error, click.ClickException):
            error.show()
        else:
            click.echo(f"Error: {printable(str(error))}", err=True)
