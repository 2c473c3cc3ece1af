"""Pages of the site that lie outside docs/: README, CHANGELOG, CONTRIBUTING and SECURITY.

MkDocs calls these functions (`hooks` in mkdocs.yml). On disk the files link to each other as
GitHub shows them; here the links are changed to the names that the files have in the site.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
OUTSIDE = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for name, page in OUTSIDE.items():
        text = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        for other, its_page in OUTSIDE.items():
            text = text.replace(f"]({other}", f"]({its_page}")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links from docs/ to files outside it to their pages."""
    for name, target in OUTSIDE.items():
        markdown = markdown.replace(f"](../{name}", f"]({target}")
    return markdown


def on_post_build(config: MkDocsConfig) -> None:
    """Remove files that no page loads: maps for debugging, search in other languages, sitemaps."""
    site = Path(config.site_dir)
    shutil.rmtree(site / "assets" / "javascripts" / "lunr")
    for file in [*site.glob("assets/**/*.map"), *site.glob("sitemap.xml*")]:
        file.unlink()
