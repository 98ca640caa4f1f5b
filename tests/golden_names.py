"""Write the golden lists of logical names: ``make golden``, on purpose only; a rename needs an alias."""

from tests.conftest import ROOT
from tests.stacks import SERVING, STACKS, graph, names


def main() -> None:
    """One list a stack and serving stack."""
    for stack in STACKS:
        for serving in SERVING:
            path = ROOT / "tests" / "golden" / f"names-{stack}-{serving}.txt"
            path.write_text("\n".join(names(graph(stack, serving))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
