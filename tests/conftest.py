"""The whole suite runs on one virtual GPU, chosen before any test module can open a device."""

import os

os.environ["HIPGRAPH_CB_VIRTUAL"] = "gfx942"
