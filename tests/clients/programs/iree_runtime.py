"""Models compiled by IREE and run by its runtime's driver hip; the second argument changes how the driver submits."""

from __future__ import annotations

import sys

import iree.compiler
import iree.runtime
from checks import check
from iree_models import MODELS

iree.runtime.flags.parse_flags(*sys.argv[1:])
device = iree.runtime.get_driver("hip").create_default_device()
config = iree.runtime.Config(device=device)
for name, model in MODELS.items():
    code = iree.compiler.compile_str(
        model.text, extra_args=["--iree-hal-target-device=hip", "--iree-rocm-target=gfx942"]
    )
    module = iree.runtime.load_vm_module(iree.runtime.VmModule.copy_buffer(config.vm_instance, code), config)
    for _ in range(2):
        check(name, module.main(*model.inputs).to_host(), model.expected(*model.inputs), model.tolerance)
