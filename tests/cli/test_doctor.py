"""`hipgraph-cb doctor` reports what a bug ticket needs."""

import inspect
import json
import platform
import sys
from importlib.metadata import version

import pytest
from support.devices import VIRTUAL_GPUS

from hipgraph_cb.cli import main
from hipgraph_cb.virtual.isa.core import lane_loops
from hipgraph_cb.virtual.isa.core.registry import compiler_of


def test_the_report_names_versions_library_device_and_approximations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["versions"]["python"] == platform.python_version()
    assert facts["versions"]["numpy"] == version("numpy")
    assert facts["versions"]["hip-python"] == version("hip-python")
    assert facts["choice"] == {"virtual": True, "reason": f"HIPGRAPH_CB_VIRTUAL={','.join(VIRTUAL_GPUS)}"}
    assert facts["device"]["ordinal"] == 0
    assert facts["device"]["target"].startswith("gfx942")
    assert facts["device"]["limits"]["max_lds"] == 65536
    assert facts["device"]["schedule"] == "in-step: waves run in step where they can, which is fast"
    assert facts["device"]["lanes"] in ("numpy alone", "numpy, and machine code for AVX2 and FMA")
    assert ("machine code" in facts["device"]["lanes"]) == (lane_loops.LOOPS is not None)
    assert any("amdhip64" in name for name in facts["library"])
    assert "v_exp" in facts["approximate"]["transcendentals"]


def test_a_device_that_does_not_exist_is_status_2_with_the_rest_of_the_report(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "--device", "9"]) == 2
    text = capsys.readouterr().out
    assert "error: open_device: no such device" in text
    assert "versions:\n  hipgraph_cb: " in text


def test_each_instruction_of_a_target_is_done_approximate_or_absent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json", "--isa", "gfx942"]) == 0
    facts = json.loads(capsys.readouterr().out)
    instructions = facts["instructions"]
    assert instructions["VOP2"]["v_add_f32"] == "done"
    assert instructions["VOP1"]["v_exp_f32"] == "approximate"
    assert instructions["DS"]["ds_gws_init"] == "excluded"
    assert "ds_gws_init" in facts["exclusions"]["global wave sync, which the driver has to allot"]
    assert facts["differences"]["alignment"].startswith("plain loads and stores need no alignment")
    assert sum(facts["counts"].values()) == sum(len(mnemonics) for mnemonics in instructions.values())


def test_each_instruction_that_is_done_has_the_file_that_gives_it_its_meaning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The compiler is in that file; or, where several families share one, a table there has the instruction."""
    assert main(["doctor", "--json", "--isa", "gfx942"]) == 0
    facts = json.loads(capsys.readouterr().out)
    states = {mnemonic: state for group in facts["instructions"].values() for mnemonic, state in group.items()}
    assert set(facts["homes"]) == {name for name, state in states.items() if state in ("done", "approximate")}
    for mnemonic, home in facts["homes"].items():
        module = sys.modules[home.removesuffix(".py").replace("/", ".")]
        compiler = compiler_of(mnemonic)
        is_compiled_here = inspect.getsourcefile(compiler) == module.__file__
        is_listed_here = any(isinstance(table, dict) and mnemonic in table for table in vars(module).values())
        is_written_here = mnemonic.rpartition("_")[0] in inspect.getsource(module)
        assert is_compiled_here or is_listed_here or is_written_here, mnemonic
    assert facts["homes"]["v_cmpx_lt_f64"].endswith("/compare.py")  # no line of it has the whole name
    assert facts["homes"]["v_add_f32"].endswith("/float_alu.py")  # compiled in a file that several families share


@pytest.mark.parametrize("target", ["gfx90a", "gfx950"])
def test_a_target_whose_code_is_only_read_says_so_of_each_instruction(
    target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--json", "--isa", target]) == 0
    facts = json.loads(capsys.readouterr().out)
    states = [state for mnemonics in facts["instructions"].values() for state in mnemonics.values()]
    assert set(states) == {"only read"}
    assert facts["counts"] == {"only read": len(states)}
    assert len(states) > 1000
    assert facts["homes"] == {}


def test_a_target_without_tables_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--isa", "gfx1030"]) == 2
    assert capsys.readouterr().err.startswith(
        "hipgraph-cb doctor: the virtual GPU has no instruction table for this target\n  found: 'gfx1030'\n"
    )
