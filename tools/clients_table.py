"""Write the table of clients in docs/run.md from the results of `make test-clients`.

python tools/clients_table.py build/clients.xml
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "run.md"
BEGIN, END = "<!-- the table of clients -->", "<!-- end of the table -->"
HEAD = "| client | does | result | needs beside the launcher |\n|---|---|---|---|\n"


def rows(results: Path) -> Iterator[tuple[str, str, str, str]]:
    """What each test that ran has noted about its client, and whether it passed."""
    for case in ElementTree.parse(results).iter("testcase"):
        notes = {str(note.get("name")): str(note.get("value")) for note in case.iter("property")}
        if "client" in notes:
            has_failed = case.find("failure") is not None or case.find("error") is not None
            yield notes["client"], notes["does"], "fails" if has_failed else "right", notes["needs"] or "nothing"


def main() -> int:
    table = HEAD + "".join(f"| {' | '.join(row)} |\n" for row in sorted(rows(Path(sys.argv[1]))))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table}{END}{rest.partition(END)[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
