"""The docs as a site: built without a warning, every link leads somewhere, nothing is fetched."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.proof

# What a page loads by itself, in contrast to a link that a reader may follow.
LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}


class Parsed(HTMLParser):
    """What a page links to, what it loads, and the anchors in it."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors: set[str] = set()
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.update(found[key] or "" for key in ("id", "name") if key in found)
        if tag == "a" and found.get("href"):
            self.links.append(found["href"] or "")
        if tag in LOADED and found.get(LOADED[tag]):
            self.loaded.append(found[LOADED[tag]] or "")


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site of a checkout, as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Parsed]:
    """Every page of the site, parsed; the page for wrong addresses is the server's."""
    site = tmp_path_factory.mktemp("docs") / "site"
    built = build(ROOT, site)
    assert built.returncode == 0, built.stderr
    return {file: Parsed(file) for file in site.rglob("*.html") if file.name != "404.html"}


def broken(pages: dict[Path, Parsed]) -> Iterator[str]:
    """Links and loaded files of the site itself that are not there."""
    for page in pages.values():
        for target in (*page.links, *page.loaded):
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = (page.file.parent / unquote(parts.path)).resolve() if parts.path else page.file
            known = pages[file].anchors if file in pages else set()
            if not file.is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                yield f"{page.file.name}: {target}"


def test_every_page_of_the_docs_is_there(pages: dict[Path, Parsed]) -> None:
    assert {file.stem for file in pages} == {file.stem for file in ROOT.glob("docs/*.md")}


def test_every_link_and_file_is_there(pages: dict[Path, Parsed]) -> None:
    assert sum(len(page.links) for page in pages.values()) > 100
    assert list(broken(pages)) == []


def test_no_page_loads_anything_from_another_host(pages: dict[Path, Parsed]) -> None:
    foreign = [
        f"{page.file.name}: {target}"
        for page in pages.values()
        for target in page.loaded
        if urlsplit(target).scheme or urlsplit(target).netloc
    ]
    assert foreign == []


def test_style_sheets_load_nothing_from_another_host(pages: dict[Path, Parsed]) -> None:
    site = next(iter(pages)).parent
    sheets = list(site.rglob("*.css"))
    assert sheets
    for sheet in sheets:
        text = sheet.read_text("utf-8")
        assert "@import" not in text, sheet.name
        assert "url(http" not in text, sheet.name
        assert "url(//" not in text, sheet.name


@pytest.mark.parametrize("link", ["nowhere.md", "security.md#no-such-heading", "/absolute.md"])
def test_a_link_that_leads_nowhere_ends_the_build(link: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    with (tmp_path / "docs" / "cluster.md").open("a", encoding="utf-8") as page:
        page.write(f"\n[a link]({link})\n")
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode != 0
    assert link.partition("#")[0] in built.stderr
