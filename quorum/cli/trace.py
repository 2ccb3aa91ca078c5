"""Prints a run on a terminal as a tree of nodes, prompts and replies."""

from rich.text import Text
from rich.tree import Tree

from quorum.cli.show import make_stderr_console, make_stdout_console
from quorum.evaluation.shown.trace import Step


def format_step(step: Step) -> Text:
    """A step on one line, such as 'answer: passage 2  prompt 1f2e3d · 310 tokens in, 4 out · 0.08 s'."""
    time_taken = [] if step.seconds is None else [f"{step.seconds:.2f} s"]
    line = Text(step.name, style="bold" if step.kind != "call" else "bold cyan")
    line.append("  " + " · ".join([*step.details, *time_taken]), style="not bold dim")
    if step.error is not None:
        line.append(f"  {step.error}", style="not bold red")
    return line


def make_tree(step: Step, parent: Tree | None = None) -> Tree:
    """A step and its inner steps as a tree for rich; a branch of `parent`, if given."""
    branch = Tree(format_step(step)) if parent is None else parent.add(format_step(step))
    if step.prompt:
        branch.add(Text(step.prompt, style="dim"))
    if step.reasoning:
        branch.add(Text("(reasoning) ").append(step.reasoning, style="dim italic"))
    if step.reply:
        branch.add(Text("-> ").append(step.reply, style="green"))
    for inner_step in step.steps:
        make_tree(inner_step, branch)
    for change in step.changes:
        branch.add(Text(change))
    return branch


def print_trace(root: Step, *, to_stderr: bool) -> None:
    """Print the steps of a run as trees. root: the run itself, which is not printed."""
    console = make_stderr_console() if to_stderr else make_stdout_console()
    for step in root.steps:
        console.print(make_tree(step))
    console.print()
