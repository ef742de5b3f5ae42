"""The command line: ``lamella run script.py``, ``lamella msrun`` and ``lamella doctor``.

``run`` does what ``python`` does, with ``import mindspore`` meaning Lamella. It has to start fast
and leave the program's arguments alone, so it does not go through the command-line library.
"""

from __future__ import annotations

import builtins
import json
import os
import runpy
import sys
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any, NoReturn

from ..compat import alias
from ..compat.surface import counts
from ..core import context
from ..core.versions import asked_version, described
from ..legacy import numpy_conversions, numpy_names
from . import msrun
from .doctor import advice, facts

__all__ = ["main", "run_module", "run_script"]


def run_script(path: str, args: Sequence[str] = ()) -> None:
    """Run a Python file as the main program, with the alias installed.

    `sys.argv`, `sys.path` and ``__main__`` are what ``python path args...`` would give; exceptions,
    `SystemExit` too, go up to the caller.

    Args:
        path: the file, or a folder or zip file with a ``__main__.py``.
        args: the program's arguments.

    Raises:
        OSError: if the file can't be read.
    """
    _prepare([path, *args], os.path.dirname(os.path.realpath(path)))
    if not os.path.isfile(path) or path.endswith((".zip", ".pyz")):
        runpy.run_path(path, run_name="__main__")
        return
    main_module = ModuleType("__main__")
    main_module.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = main_module
    with open(path, "rb") as file:
        source = file.read()
    code: CodeType = compile(source, path, "exec", dont_inherit=True)
    exec(code, main_module.__dict__)


def run_module(name: str, args: Sequence[str] = ()) -> None:
    """Run a module as the main program (``python -m name``), with the alias installed.

    Args:
        name: the module's full name.
        args: the program's arguments.

    Raises:
        ImportError: if there is no such module.
    """
    _prepare([name, *args], os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _prepare(argv: list[str], folder: str) -> None:
    msrun.name_this_process()
    alias.install()
    context.use_cpu_instead()
    numpy_names.offer()
    numpy_conversions.offer()
    sys.argv[:] = argv
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def main(argv: Sequence[str] | None = None) -> None:
    """The command's entry point.

    Args:
        argv: the arguments; default: those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if len(arguments) > 1 and arguments[0] == "run" and arguments[1] != "--help":
        _run(arguments[1:])
    elif arguments[:1] == ["msrun"]:
        sys.exit(msrun.main(arguments[1:]))
    else:
        _typer_app()(arguments, prog_name="lamella")


def _run(arguments: list[str]) -> None:
    if arguments[0].partition("=")[0] == "--mindspore":
        arguments = _choose_version(arguments)
    if arguments[0] == "-m":
        if len(arguments) == 1:
            _refuse("'lamella run -m' needs the name of a module.")
        run_module(arguments[1], arguments[2:])
    elif arguments[0].startswith("-"):
        _refuse(f"'lamella run' has no option {arguments[0]!r}; options of the program come after "
                "its file.")
    elif not os.path.exists(arguments[0]):
        _refuse(f"can't open file {arguments[0]!r}: there is no such file.")
    else:
        run_script(arguments[0], arguments[1:])


def _choose_version(arguments: list[str]) -> list[str]:
    """Take ``--mindspore VERSION`` for this process and those that it starts; what follows."""
    option, equals, version = arguments[0].partition("=")
    rest = arguments[1:] if equals else arguments[2:]
    if not rest:
        _refuse(f"'lamella run {option}' needs a version, such as 2.3, and a program.")
    os.environ["LAMELLA_MINDSPORE"] = version if equals else arguments[1]
    try:
        asked_version()
    except ValueError as error:
        _refuse(str(error))
    return rest


def _refuse(message: str) -> NoReturn:
    print(f"lamella: {message}", file=sys.stderr)
    sys.exit(2)


def _typer_app() -> Any:
    import typer

    app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None,
                      context_settings={"help_option_names": ["-h", "--help"]},
                      help="Run MindSpore programs on PyTorch's kernels.")

    @app.callback(invoke_without_command=True)
    def options(version: bool = typer.Option(False, "--version", "-V",
                                             help="print the version and commit, and exit")
                ) -> None:
        if version:
            print(f"lamella {described()}")
            raise typer.Exit

    @app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
    def run(script: str = typer.Argument(help="the program, or '-m' and a module's name")) -> None:
        """Run a Python program in which 'import mindspore' means Lamella; its arguments follow.

        '--mindspore 2.3' before the program chooses the version whose meaning names have.
        """
        _run([script])

    @app.command(add_help_option=False)
    def msrun() -> None:  # `main` has dealt with it; this is its line in the help
        """Run a program in several processes, with the arguments of MindSpore's msrun."""

    @app.command()
    def names(missing: str = typer.Option("", help="list what is missing of a room, e.g. nn")
              ) -> None:
        """Count MindSpore 2.10's public names that Lamella has, room by room."""
        _names(missing)

    @app.command()
    def doctor(json: bool = typer.Option(False, "--json", help="print the facts as JSON")) -> None:
        """Report the hardware and software of this machine, and what Lamella uses of it."""
        _doctor(json)

    @app.command()
    def jupyter(action: str = typer.Argument(help="'install' or 'uninstall'"),
                prefix: str = typer.Option("", help="where, e.g. an environment's folder; "
                                                    "default: this user's"),
                name: str = typer.Option("lamella", help="the kernel's name")) -> None:
        """Install a kernel for notebooks in which 'import mindspore' means Lamella."""
        _jupyter(action, prefix, name)

    return app


def _jupyter(action: str, prefix: str, name: str) -> None:
    from .jupyter import install, uninstall  # asks for an optional package

    if action not in ("install", "uninstall"):
        _refuse(f"'lamella jupyter' can 'install' or 'uninstall', but got {action!r}.")
    try:
        done = install(name, prefix or None) if action == "install" else uninstall(name)
    except (ImportError, ValueError, OSError) as error:
        _refuse(str(error))
    print(done)


def _names(missing: str) -> None:
    from rich.console import Console
    from rich.table import Table

    found = counts()
    if missing:
        room = f"mindspore.{missing}".removesuffix(".mindspore")
        if room not in found:
            _refuse(f"MindSpore has no room {missing!r}; it has {', '.join(found)}.")
        print("\n".join(found[room].missing))
        return
    table = Table("room", "names", "of", "%")
    for column in table.columns[1:]:
        column.justify = "right"
    there = total = 0
    for room, count in found.items():
        of = count.there + len(count.missing)
        there, total = there + count.there, total + of
        table.add_row(room, str(count.there), str(of), f"{100 * count.there / of:.0f}")
    table.add_section()
    table.add_row("all", str(there), str(total), f"{100 * there / total:.1f}")
    Console().print(table)


def _doctor(as_json: bool) -> None:
    found = facts()
    outcomes = _on_the_device(found["gpu"])
    if as_json:
        tried = {"device": [one._asdict() for one in outcomes]} if outcomes else {}
        print(json.dumps({**found, **tried, "advice": advice(found)}, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("subject", "fact", "value")
    for subject, entries in found.items():
        for i, (name, value) in enumerate(entries.items()):
            table.add_row(subject if i == 0 else "", name, _plain(value))
        table.add_section()
    console = Console()
    console.print(table)
    for sentence in advice(found):
        console.print(f"- {sentence}", markup=False, highlight=False)
    if outcomes:
        table = Table(f"on {found['gpu']['devices'][0]}", "works", "")
        for one in outcomes:
            table.add_row(one.what, "yes" if one.works else "no", one.text)
        console.print(table)


def _on_the_device(gpu: dict[str, Any]) -> list[Any]:
    """What works on the machine's accelerator, if it has one."""
    if not gpu["available"]:
        return []
    from .device_check import check_device  # it takes the whole compiler

    context.set_device(gpu["target"])
    return check_device()


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else ", ".join(value) if isinstance(value, list) else str(value)
