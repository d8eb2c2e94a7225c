"""The completion of the shells, from the tree of commands: `completion.py bash|zsh|fish` prints the script.

Theory of operation: a script walks the typed words. A word that is a command below the present one becomes the present
command. The script then offers the commands, options and choices of the present command, or the names of files.
"""

import sys
from collections.abc import Iterator

from command_tree import Node, tree

LINE_END, SPACE = "\n", " "


def words_of(node: Node) -> list[str]:
    """The words that may follow the command: its tasks, its options, and the choices of its arguments."""
    words = [child.path[-1] for child in node.children]
    words += [flag for option in node.options for flag in option.flags if flag.startswith("--")]
    return words + [choice for argument in node.arguments for choice in argument.choices]


def after_commands(top: Node) -> Iterator[str]:
    for node in top.walk():
        files = "1" if any(argument.is_file for argument in node.arguments) else ""
        yield f"""    "{SPACE.join(node.path)}") offers="{SPACE.join(words_of(node))}" files={files};;"""


def after_options(top: Node) -> Iterator[str]:
    """The values of the options that have a value."""
    for node in top.walk():
        for option in node.options:
            if option.value is not None:
                pattern = "|".join(f'"{SPACE.join((*node.path, flag))}"' for flag in option.flags)
                files = "1" if option.is_file else ""
                yield f"""    {pattern}) offers="{SPACE.join(option.choices)}" files={files};;"""


def walk_script(top: Node) -> str:
    """The part of bash and zsh alike. It sets `offers`, and `files` if the names of files are also offered."""
    paths = "|".join(f'"{SPACE.join(node.path)}"' for node in top.walk() if node is not top)
    return f"""\
  for word in "${{before[@]}}"; do
    case "$place $word" in {paths}) place="$place $word";; esac
  done
  case "$place" in
{LINE_END.join(after_commands(top))}
  esac
  case "$place $previous" in
{LINE_END.join(after_options(top))}
  esac"""


def bash() -> str:
    return f"""\
# bash completion for shoed, written by packaging/completion.py
_shoed() {{
  local place=shoed offers="" files="" word
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
  local -a before=("${{COMP_WORDS[@]:1:COMP_CWORD-1}}")
{walk_script(tree())}
  mapfile -t COMPREPLY < <(compgen -W "$offers" -- "$current")
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -F _shoed shoed
"""


def zsh() -> str:
    return f"""\
#compdef shoed
# zsh completion for shoed, written by packaging/completion.py
_shoed() {{
  local place=shoed offers="" files="" word previous="${{words[CURRENT-1]}}"
  local -a before=("${{(@)words[2,CURRENT-1]}}")
{walk_script(tree())}
  compadd -- ${{=offers}}
  if [[ -n $files ]]; then _files; fi
}}
_shoed "$@"
"""


def fish() -> str:
    lines = ["# fish completion for shoed, written by packaging/completion.py", "complete -c shoed -f"]
    for node in tree().walk():
        seen = [f"__fish_seen_subcommand_from {word}" for word in node.path[1:]]
        below = [child.path[-1] for child in node.children]
        if below:
            seen.append(f"not __fish_seen_subcommand_from {SPACE.join(below)}")
        here = f"-n '{'; and '.join(seen)}'"
        lines += [f"complete -c shoed {here} -a {each.path[-1]} -d {quoted(each.purpose)}" for each in node.children]
        if choices := [choice for argument in node.arguments for choice in argument.choices]:
            lines.append(f"complete -c shoed {here} -a {quoted(SPACE.join(choices))}")
        if any(argument.is_file for argument in node.arguments):
            lines.append(f"complete -c shoed {here} -F")
        for option in node.options:
            names = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            needs = "" if option.value is None else " -r -F" if option.is_file else " -x"
            values = f" -a {quoted(SPACE.join(option.choices))}" if option.choices else ""
            lines.append(f"complete -c shoed {here} {names}{needs}{values} -d {quoted(option.meaning)}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}

if __name__ == "__main__":
    sys.stdout.write(SHELLS[sys.argv[1]]())
