"""Write the generated pages: ``make docs``."""

from headwater.settings.reference import reference, schema_text
from tests.conftest import ROOT

PAGES = {"docs/configuration.md": reference, "docs/stack.schema.json": schema_text}


def main() -> None:
    """Write every generated page."""
    for name, text in PAGES.items():
        (ROOT / name).write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
