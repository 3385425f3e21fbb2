"""The command line: a thin group; each command lives in its own module and imports late."""

from __future__ import annotations

import importlib
import logging
import sys
import warnings
from typing import Any

import click

from referee import __version__
from referee.errors import InputError, RefereeError

COMMANDS = {
    "models": "referee.cli_models",
    "resolve": "referee.cli_resolve",
    "rules": "referee.cli_rules",
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
    # What these say is for programmers: tracebacks of handled failures, notes on cut replies.
    for name in ("LiteLLM", "dspy.clients.lm"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    # litellm makes pydantic warn about its own types; a user can do nothing about it.
    warnings.filterwarnings("ignore", category=UserWarning, module=r"pydantic\.")
    try:
        return cli.main(args=args, prog_name="referee", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("Interrupted.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except InputError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(2)
    except RefereeError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing more to say, to anyone.
        sys.stderr.close()
        sys.exit(0)
