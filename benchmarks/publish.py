"""A benchmark whose table goes to benchmarks/results.md.

    python -m benchmarks.publish claim_cost --held

runs `python -m benchmarks.claim_cost --held`, shows what it prints, and writes that between the marks that
the page has for it, with commit, time and machine. The rest of the page is left as it is.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.machine import machine, moment

PAGE = Path(__file__).parent / "results.md"


def main(arguments: list[str], page: Path = PAGE) -> int:
    """Run a benchmark and publish what it printed; its own exit code."""
    part = name_of(arguments)
    between(page.read_text(), part, "")  # better now than after hours
    said = stamp()
    command = [sys.executable, "-m", f"benchmarks.{arguments[0]}", *arguments[1:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 - one of ours
    print(done.stdout, flush=True)
    if done.stdout.strip():
        page.write_text(between(page.read_text(), part, f"{said}\n\n{done.stdout.strip()}"))
    return done.returncode


def name_of(arguments: list[str]) -> str:
    """The part of the page that a benchmark writes.

    >>> name_of(["claim_cost", "--held"])
    'claim_cost held'
    """
    return " ".join(each.lstrip("-") for each in arguments)


def marks(part: str) -> tuple[str, str]:
    """What stands before and behind a part of a page that a run writes."""
    return f"<!-- {part}: written by a run -->", f"<!-- end of {part} -->"


def between(page: str, part: str, text: str) -> str:
    """The page with that text between the part's marks, and nothing else changed."""
    first, last = marks(part)
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"the page has no place for {part}: {first} ... {last}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def stamp() -> str:
    """When, of what and where something is measured."""
    now, here = moment(), machine()
    where = f"{here['machine']}, Python {here['python']}"
    return f"Commit {now['commit']}, {now['when']}, load {now['load']}; {where}."


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
