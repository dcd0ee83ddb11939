"""The settings of the virtual device, each from an environment variable `HIPGRAPH_CB_VIRTUAL_*` (and one from
`HIPGRAPH_CB_SCHEDULE`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from hipgraph_cb.errors import InvalidArgumentError

PREFIX = "HIPGRAPH_CB_VIRTUAL_"
SCHEDULE_VARIABLE = "HIPGRAPH_CB_SCHEDULE"
LDS_BOUNDS_HARDWARE, LDS_BOUNDS_FAULT = "hardware", "fault"
AFTER_FAULT = {
    "recover": "a fault leaves a device that works",
    "sticky": "after a fault every call fails",
    "abort": "a fault ends the process",
}
"""What `after_fault` may be, and what that means."""
PEER_ACCESS_ALL, PEER_ACCESS_NONE = "all", "none"
IN_STEP, RANDOM = "in-step", "random"
SCHEDULES = {
    IN_STEP: "waves run in step where they can, which is fast",
    RANDOM: "the seed chooses the order of waves and workgroups, and loads that are not waited for are faults",
}
"""What `schedule` may be, and what that means."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Settings:
    """How the virtual devices of this process behave.

    Attributes:
        memory: bytes of device memory of each device.
        seed: chooses the order in which independent work runs.
        profile: whose behaviour is copied where AMD's versions differ: "6.4" or "7.2".
        watchdog: seconds of processor time after which a kernel is stopped, or 0 for never.
        lds_bounds: what an access outside a workgroup's LDS does: "hardware" (reads give 0, writes are dropped) or
            "fault".
        schedule: the order of a kernel's waves: "in-step", or "random", in which what is wrong in a kernel shows.
        after_fault: what a fault leaves behind: "recover", a device that works; "sticky", a HIP library whose every
            call fails, as AMD's 7.2.4; "abort", nothing: the process ends, as with AMD's 6.4.3.
        peer_access: whether the libraries say that a GPU can access the memory of the others: "all" or "none".
    """

    memory: int = 16 << 30
    seed: int = 0
    profile: str = "7.2"
    watchdog: float = 60.0
    lds_bounds: str = LDS_BOUNDS_HARDWARE
    schedule: str = IN_STEP
    after_fault: str = "recover"
    peer_access: str = PEER_ACCESS_ALL

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """The defaults, changed by the variables that are set.

        Raises:
            InvalidArgumentError: a variable does not hold what its name promises.
        """
        return VirtualSettings().resolve(environment)


@dataclass(frozen=True)
class VirtualSettings:
    """Requested settings of the virtual devices of this process; what is left out comes from the environment.

    Attributes:
        memory: bytes of device memory of each device, or a text such as "512M".
        seed: chooses the order in which independent work runs.
        profile: whose behaviour is copied where AMD's versions differ: "6.4" or "7.2".
        watchdog: seconds of processor time after which a kernel is stopped, or 0 for never.
        lds_bounds: what an access outside a workgroup's LDS does: "hardware" (reads give 0, writes are dropped) or
            "fault".
        schedule: the order of a kernel's waves: "in-step", or "random", in which what is wrong in a kernel shows.
        after_fault: what a fault leaves behind: "recover", a device that works; "sticky", a HIP library whose every
            call fails, as AMD's 7.2.4; "abort", nothing: the process ends, as with AMD's 6.4.3.
        peer_access: whether the libraries say that a GPU can access the memory of the others: "all" or "none".
    """

    memory: int | str | None = None
    seed: int | None = None
    profile: str | None = None
    watchdog: float | None = None
    lds_bounds: str | None = None
    schedule: str | None = None
    after_fault: str | None = None
    peer_access: str | None = None

    def resolve(self, environment: Mapping[str, str] | None = None) -> Settings:
        """The settings that hold: these, then the variables that are set, then the defaults.

        Raises:
            InvalidArgumentError: a value or a variable does not hold what its name promises.
        """
        variables = os.environ if environment is None else environment
        settings = Settings()
        readers: tuple[tuple[str, Callable[[str], Any], str], ...] = (
            ("memory", _bytes, "a number of bytes, or of units: 512M, 16G"),
            ("seed", int, "an integer"),
            ("profile", _profile, "6.4 or 7.2"),
            ("watchdog", _seconds, "seconds, 0 for no limit"),
            ("lds_bounds", _lds_bounds, f"{LDS_BOUNDS_HARDWARE} or {LDS_BOUNDS_FAULT}"),
            ("schedule", _schedule, ", ".join(SCHEDULES)),
            ("after_fault", _after_fault, ", ".join(AFTER_FAULT)),
            ("peer_access", _peer_access, f"{PEER_ACCESS_ALL} or {PEER_ACCESS_NONE}"),
        )
        for name, read, allowed in readers:
            requested = getattr(self, name)
            variable = SCHEDULE_VARIABLE if name == "schedule" else PREFIX + name.upper()
            where = variable if requested is None else f"VirtualSettings({name}=...)"
            given = variables.get(variable) if requested is None else requested
            if given is None:
                continue
            try:
                if isinstance(given, bool):
                    raise ValueError(given)
                settings = replace(settings, **{name: read(str(given).strip())})
            except ValueError as error:
                raise InvalidArgumentError(
                    f"{where} cannot be understood", found=repr(given), allowed=allowed
                ) from error
        return settings


def _bytes(text: str) -> int:
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    if unit not in _UNITS or not number.isdigit() or int(number) == 0:
        raise ValueError(text)
    return int(number) * _UNITS[unit]


def _profile(text: str) -> str:
    if text not in ("6.4", "7.2"):
        raise ValueError(text)
    return text


def _lds_bounds(text: str) -> str:
    if text not in (LDS_BOUNDS_HARDWARE, LDS_BOUNDS_FAULT):
        raise ValueError(text)
    return text


def _schedule(text: str) -> str:
    if text not in SCHEDULES:
        raise ValueError(text)
    return text


def _after_fault(text: str) -> str:
    if text not in AFTER_FAULT:
        raise ValueError(text)
    return text


def _peer_access(text: str) -> str:
    if text not in (PEER_ACCESS_ALL, PEER_ACCESS_NONE):
        raise ValueError(text)
    return text


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(text)
    return seconds
