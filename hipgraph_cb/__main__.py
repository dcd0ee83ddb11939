"""`python -m hipgraph_cb`: the same as `hipgraph-cb`."""

import sys

from hipgraph_cb.cli import main

sys.exit(main())
