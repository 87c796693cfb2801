"""`attnlab check mymodule:MyScorer [KEY=VALUE ...]`: one's own scorer or window, against the contract."""

import argparse
import sys

from attnlab.ending import Parser, told

_WORDS = """\
Puts a scorer or a window of your own through the contract that the framework's own keep, and names what is
wrong, one line a fault: what, where, the remedy. The module may lie in the current folder. Reads nothing but
the module; writes nothing.

  attnlab check mymodule:MyScorer
  attnlab check mymodule:MyScorer units=32
  attnlab check mymodule:MyWindow half_width=3
  attnlab train scorer._target_=mymodule.MyScorer     a training with it, as docs/own_parts.md has it

The exit status is 0 where the contract is kept, 1 where it is broken, 2 where there is nothing to check.
"""


def _main() -> int:
    parser = Parser(
        "attnlab check",
        usage="attnlab check MODULE:CLASS [KEY=VALUE ...]",
        description=_WORDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "name", metavar="MODULE:CLASS", nargs="?", help="the class, in the current folder or installed"
    )
    parser.add_argument("options", metavar="KEY=VALUE", nargs="*", help="arguments of its constructor")
    given = parser.parse_args()
    if given.name is None:
        parser.error("name a class, as mymodule:MyScorer")
    given.name = " ".join(given.name.split())

    from attnlab import contract  # imports torch: not for --help
    from attnlab.attention import Window
    from attnlab.contract import naming

    made = naming.found(given.name)
    as_window = issubclass(made, Window) or hasattr(made, "positions")
    kind, sizes = ("window", ["query_dim"]) if as_window else ("scorer", ["query_dim", "key_dim"])
    try:
        values = naming.options(made, given.options, sizes, given.name)
        subject = (naming.window if as_window else naming.scorer)(made, values, given.name)
    except contract.Broken as unmade:
        outcome = contract.Outcome([unmade], [], ["everything else"])
    else:
        outcome = contract.check(subject, contract.WINDOW if as_window else contract.SCORER)

    if outcome.broken:
        for broken in outcome.broken:
            print(broken)
        if outcome.left:
            print("not checked before that is mended:")
            for words in outcome.left:
                print(f"  {words}")
        return 1
    equal = " (only where decoder and encoder have one size)" if subject.sizes[0] == subject.sizes[1] else ""
    print(f"{given.name} keeps the contract of a {kind}{equal}. Checked:")
    for words in outcome.held:
        print(f"  {words}")
    return 0


def main() -> int:
    """Prints what is wrong; 0, 1 where the contract is broken, 2 with one line on stderr."""
    return told(_main)


if __name__ == "__main__":
    sys.exit(main())
