"""Every function of HIP that hip-python or compiled code may call, and whether the virtual library has it."""

from __future__ import annotations

from hipgraph_cb.errors import UnavailableError
from hipgraph_cb.virtual.hip.absent import GROUPS, group_of
from hipgraph_cb.virtual.hip.library import subjects

IMPLEMENTED, BEYOND = "implemented", "beyond hip-python"
# hip-python's names for functions whose symbol names the layout of a structure
_SYMBOLS = {name: name + "R0600" for name in ("hipChooseDevice", "hipGetDeviceProperties")}


def hip_python_functions() -> list[str]:
    """The symbols behind hip-python's functions, sorted. No HIP library is loaded for this.

    Raises:
        UnavailableError: hip-python is missing.
    """
    try:
        from rocm.bindings import hip
    except ImportError as error:
        raise UnavailableError(
            "hip-python cannot be imported", found=str(error), next_step="install hip-python 10 or newer"
        ) from error
    names = [name for name in dir(hip) if name.startswith("hip") and _is_function(getattr(hip, name))]
    return sorted(_SYMBOLS.get(name, name) for name in names)


def _is_function(thing: object) -> bool:
    return callable(thing) and not isinstance(thing, type)


def function_states() -> dict[str, str]:
    """Function -> "implemented", "beyond hip-python" (and implemented), or the title of its group of absent ones.

    A function that is missing and in no group is called "absent".
    """
    ours = {name for names in subjects().values() for name in names}
    theirs = hip_python_functions()
    states = {}
    for name in theirs:
        group = group_of(name)
        states[name] = IMPLEMENTED if name in ours else "absent" if group is None else group.title
    return states | dict.fromkeys(sorted(ours - set(theirs)), BEYOND)


def as_markdown() -> str:
    """The list as docs/virtual_hip.md shows it: what is there by subject, what is not by group."""
    states = function_states()
    parts = ["### What is there"]
    parts += [f"**{title}** " + _names(names) for title, names in subjects().items()]
    parts.append("### What is not there")
    for group in GROUPS:
        missing = [name for name, state in states.items() if state == group.title]
        parts.append(f"**{group.title}**: {group.reason}. " + _names(missing))
    return "\n\n".join(parts)


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
