"""Print a script that completes the commands, options and files of `assay` in your shell.

bash: add `source <(assay completion bash)` to ~/.bashrc. zsh: add `source <(assay completion zsh)` to ~/.zshrc.
fish: `assay completion fish > ~/.config/fish/completions/assay.fish`.
"""

import argparse
from collections.abc import Iterator

from assay.cli.main import COMMANDS, load

EXAMPLE = "assay completion bash"

# The array `words` has the options and actions of the command; a word that is not an option may also be a file.
BASH = """\
_assay() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} words
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands}"
    else
        case "${{COMP_WORDS[1]}}" in
{cases}
        esac
        case "$current" in
            -*) ;;
            *) COMPREPLY=($(compgen -f -- "$current")) ;;
        esac
    fi
    COMPREPLY+=($(compgen -W "$words" -- "$current"))
}}
complete -o filenames -F _assay assay
"""
ZSH = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell to complete in")


def run(arguments: argparse.Namespace) -> int:
    words: dict[str, list[str]] = {}
    for name, command in COMMANDS.items():
        parser = argparse.ArgumentParser()
        if not command.main:  # the options of others are not known
            load(name).add_arguments(parser)
        words[name] = sorted(set(_words_of(parser)))
    if arguments.shell == "fish":
        for name, command in COMMANDS.items():
            about = command.title.replace("'", "\\'")
            print(f"complete -c assay -n __fish_use_subcommand -a {name} -d '{about}'")  # noqa: T201
            for word in words[name]:
                option = f"-l {word.removeprefix('--')}" if word.startswith("--") else f"-a {word}"
                print(f"complete -c assay -n '__fish_seen_subcommand_from {name}' {option}")  # noqa: T201
        return 0
    cases = [f'            {name}) words="{" ".join(words[name])}" ;;' for name in words]
    script = BASH.format(commands=" ".join(words), cases="\n".join(cases))
    print((ZSH if arguments.shell == "zsh" else "") + script, end="")  # noqa: T201
    return 0


def _words_of(parser: argparse.ArgumentParser) -> Iterator[str]:
    """The long options of a command, and its actions."""
    for action in parser._actions:  # argparse has no public list of options
        yield from (option for option in action.option_strings if option.startswith("--"))
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                yield name
                yield from _words_of(subparser)
        elif action.choices is not None and not action.option_strings:
            yield from map(str, action.choices)
