"""Print a script that completes the commands, options and files of `assay` in your shell.

bash: add `source <(assay completion bash)` to ~/.bashrc. zsh: add `source <(assay completion zsh)` to ~/.zshrc.
fish: `assay completion fish > ~/.config/fish/completions/assay.fish`.
"""

import argparse
from collections.abc import Iterator
from importlib import import_module

from assay.cli.main import COMMANDS

EXAMPLE = "assay completion bash"

BASH = """\
_assay() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
    fi
    case "$current" in
        -*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;
        *) if [ "$COMP_CWORD" -eq 1 ]; then COMPREPLY=($(compgen -W "$words" -- "$current"));
           else COMPREPLY=($(compgen -W "${{words//--[a-z-]*}}" -- "$current") $(compgen -f -- "$current")); fi ;;
    esac
}}
complete -o filenames -F _assay assay
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of `assay completion`."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def run(arguments: argparse.Namespace) -> int:
    """Print the script of a shell."""
    if arguments.shell == "fish":
        script = "\n".join(_fish())
    else:
        cases = "\n".join(
            f'            {name}) words="{" ".join(words)}" ;;' for name, words in _words().items()
        )
        bash = BASH.format(commands=" ".join(COMMANDS), cases=cases)
        script = (ZSH if arguments.shell == "zsh" else "") + bash
    print(script)  # noqa: T201
    return 0


def _fish() -> Iterator[str]:
    for name, summary in COMMANDS.items():
        about = summary.replace("'", "\\'")
        yield f"complete -c assay -n __fish_use_subcommand -a {name} -d '{about}'"
    for name, words in _words().items():
        for word in words:
            option = f"-l {word.removeprefix('--')}" if word.startswith("--") else f"-a {word}"
            yield f"complete -c assay -n '__fish_seen_subcommand_from {name}' {option}"


def _words() -> dict[str, list[str]]:
    """The long options and the actions of each command."""
    words = {}
    for name in COMMANDS:
        parser = argparse.ArgumentParser(prog=name)
        if name != "trec_eval":  # its options have one letter
            import_module(f"assay.cli.commands.{name}").add_arguments(parser)
        words[name] = sorted(set(_of(parser)))
    return words


def _of(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of its options
        yield from (option for option in action.option_strings if option.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            for name, its_parser in action.choices.items():
                yield name
                yield from _of(its_parser)
