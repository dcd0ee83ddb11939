"""The documents hold together: pages, pictures, links and docstrings. `make docs` builds the site from them."""

import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest

import hipgraph_cb

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
HOME = "https://github.com/hipgraph-cb/hipgraph_cb/blob/main/"
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$", re.M | re.S)
PARTS = ("__func__", "fget", "func")  # where a class method, a property and a cached one keep the function
DIRECTIVE = re.compile(r"^\.\. auto(?:class|function):: (hipgraph_cb\.\S+)$", re.M)


def links(page: Path) -> list[str]:
    return LINK.findall(CODE.sub("", page.read_text()))


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, on the site as where the files are shown."""
    headings = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def assert_leads_somewhere(link: str, page: Path) -> None:
    name, _, anchor = unquote(link).partition("#")
    target = (page.parent / name).resolve() if name else page
    assert target.exists(), f"{page.relative_to(ROOT)}: {link}"
    assert not anchor or anchor in anchors(target), f"{page.relative_to(ROOT)}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_link_between_the_pages_leads_somewhere(page: Path) -> None:
    for link in links(page):
        if "://" not in link:
            assert_leads_somewhere(link, page)
            assert (page.parent / link.partition("#")[0]).resolve().is_relative_to(DOCS), f"{link} is not on the site"


def test_the_readme_links_to_files_of_the_project_by_whole_addresses_so_that_they_work_wherever_it_is_shown() -> None:
    readme = ROOT / "README.md"
    for link in links(readme):
        assert "://" in link or link.startswith("#"), link
        if link.startswith((HOME, "#")):
            assert_leads_somewhere(link.removeprefix(HOME), readme)


def test_every_page_can_be_reached_from_the_index() -> None:
    listed = set()
    for index in (DOCS / "index.md", DOCS / "api" / "index.md"):
        for tree in re.findall(r"^```\{toctree\}\n(.*?)^```$", index.read_text(), re.M | re.S):
            names = [line for line in tree.splitlines() if line and not line.startswith(":")]
            listed |= {(index.parent / f"{name}.md").resolve() for name in names}
    assert listed == set(PAGES) - {DOCS / "index.md"}


def test_every_public_name_has_a_place_on_an_api_page() -> None:
    described = [name for page in PAGES for name in DIRECTIVE.findall(page.read_text())]
    assert len(described) == len(set(described))
    public = {f"hipgraph_cb.{name}" for name in hipgraph_cb.__all__ if not name.startswith("__")}
    assert public - set(described) == set()


def configuration() -> ModuleType:
    spec = importlib.util.spec_from_file_location("documentation", DOCS / "conf.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def described_functions() -> dict[str, object]:
    members = configuration().members
    found = {}
    for name in hipgraph_cb.__all__:
        value = getattr(hipgraph_cb, name)
        if inspect.isclass(value):
            found[name] = value
            found |= {f"{name}.{member}": inspect.getattr_static(value, member) for member in members(value)}
        elif callable(value):
            found[name] = value
    return {
        name: next((getattr(value, part) for part in PARTS if hasattr(value, part)), value)
        for name, value in found.items()
    }


def test_every_public_class_method_and_property_says_what_it_is() -> None:
    """A page shows nothing of what has no docstring."""
    described = described_functions()
    assert len(described) > 140
    assert [name for name, function in described.items() if not inspect.getdoc(function)] == []


def test_every_argument_that_a_docstring_explains_exists() -> None:
    for name, function in described_functions().items():
        if not inspect.isfunction(function):
            continue
        parameters = set(inspect.signature(function).parameters)
        section = re.search(r"^Args:\n(.*?)(?:\n\n|\Z)", inspect.getdoc(function) or "", re.M | re.S)
        for line in section[1].splitlines() if section else ():
            if explained := re.match(r"    (\w+(?:, \w+)*): ", line):
                assert set(explained[1].split(", ")) <= parameters, f"{name}: {explained[1]}"
