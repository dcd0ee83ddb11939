"""A process with two different GPUs: each decides for itself what it loads."""

from __future__ import annotations

from support.child import ROOT, result_of, run


def test_a_code_object_is_checked_against_the_device_that_loads_it():
    code = f"""
    import logging
    logging.disable()
    from pathlib import Path
    from hipgraph_cb import open_device
    from hipgraph_cb.errors import HipGraphError
    from hipgraph_cb.code_object.verify import verify
    folder = Path({str(ROOT / "tests/fixtures/corpus/clang")!r})
    for ordinal in (0, 1):
        with open_device(device=ordinal) as device:
            for name in ("gfx942", "gfx1100"):
                data = (folder / f"k_cl.{{name}}.hsaco").read_bytes()
                try:
                    print(ordinal, name, device.load(data)["saxpy"].name)
                except HipGraphError as error:
                    try:
                        verify(data, target=device.target)
                    except HipGraphError as offline:
                        print(ordinal, name, error.found, str(error) == str(offline))
    """
    assert result_of(run(code, HIPGRAPH_CB_VIRTUAL="gfx942,gfx1100")) == (
        0,
        "0 gfx942 saxpy\n0 gfx1100 gfx1100 (processor differs) True\n"
        "1 gfx942 gfx942 (processor differs) True\n1 gfx1100 saxpy",
        "",
    )
