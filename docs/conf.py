"""The site: `make docs` builds it, and a warning is an error."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import hipgraph_cb
from hipgraph_cb import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

project = "hipgraph_cb"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"hipgraph_cb {release}"
html_show_copyright = False
myst_heading_anchors = 3

# Docstrings are Google's style, with code in single backticks.
default_role = "code"
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_class_signature = "separated"
autodoc_default_options = {
    "members": True,
    "inherited-members": "object, Exception, ValueError, LookupError, Enum, IntFlag, int, tuple, dict",
    "exclude-members": "__init__, __new__, add_note, with_traceback",
}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
# Attributes of one name in several classes: their headings link to nothing.
suppress_warnings = ["ref.python"]


def keep_sentences(
    app: Sphinx, what: str, name: str, described: object, options: dict[str, Any], lines: list[str]
) -> None:
    """Napoleon takes the text before a colon in the docstring of a property for its type; here it is a sentence."""
    text = inspect.getdoc(described) or ""
    if what == "property" and "Raises:" not in text:
        lines[:] = [*text.splitlines(), ""]


def members(described: type) -> Iterator[str]:
    """The methods and properties of a class that its page must have."""
    excluded = {name.strip() for name in autodoc_default_options["exclude-members"].split(",")}
    for owner in described.__mro__:
        if owner.__module__.partition(".")[0] == "hipgraph_cb":
            for name, value in vars(owner).items():
                is_method = inspect.isfunction(value) or isinstance(
                    value, (property, cached_property, classmethod, staticmethod)
                )
                if is_method and not name.startswith("_") and name not in excluded:
                    yield name


def require_every_public_name(app: Sphinx, environment: BuildEnvironment) -> None:
    """A public class, function or method that is on no page is a warning, and so an error."""
    from sphinx.util import logging

    described = environment.get_domain("py").objects
    for name in hipgraph_cb.__all__:
        value = getattr(hipgraph_cb, name)
        wanted = [name, *(f"{name}.{member}" for member in members(value))] if inspect.isclass(value) else [name]
        for each in wanted:
            if f"hipgraph_cb.{each}" not in described and not isinstance(value, str):
                logging.getLogger(__name__).warning("no page describes hipgraph_cb.%s", each)


def setup(app: Sphinx) -> None:
    app.connect("env-check-consistency", require_every_public_name)
    app.connect("autodoc-process-docstring", keep_sentences, priority=900)
