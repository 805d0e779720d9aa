#!/usr/bin/env python3
"""The site that scripts/site makes: every link leads somewhere, nothing is loaded from elsewhere, the search has all pages."""

import html.parser
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Page(html.parser.HTMLParser):
    """Links and anchors of a page, and what it loads."""

    def __init__(self, file):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], set()
        self.feed(file.read_text())

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loaded += [values[key] for key in ("src", "href") if tag in ("script", "img", "link") and key in values]


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.site = pathlib.Path(cls.folder.name)
        subprocess.run([ROOT / "scripts" / "site", "-o", cls.site], check=True, stdout=subprocess.DEVNULL)
        cls.pages = {file: Page(file) for file in cls.site.rglob("*.html")}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_links_lead_somewhere(self):
        self.assertGreater(len(self.pages), 15)
        for file, page in self.pages.items():
            for link in page.links + page.loaded:
                if re.match(r"[a-z]+:", link):
                    continue
                path, _, anchor = link.partition("#")
                target = (file.parent / path).resolve() if path else file
                self.assertTrue(target.exists(), f"{file.name}: {link}")
                if anchor and target.suffix == ".html":
                    anchors = next(page for other, page in self.pages.items() if other.resolve() == target).anchors
                    self.assertIn(anchor, anchors, f"{file.name}: {link}")

    def test_nothing_is_loaded_from_elsewhere(self):
        for file, page in self.pages.items():
            self.assertEqual([link for link in page.loaded if re.match(r"([a-z]+:)?//", link)], [], file.name)

    def test_search_has_all_pages(self):
        text = (self.site / "search_index.js").read_text()
        sections = json.loads(text[text.index("["):text.rindex("]") + 1])
        found = {section["link"].partition("#")[0] for section in sections}
        self.assertEqual(found, {str(file.relative_to(self.site)) for file in self.pages})
        self.assertTrue(any("serialization" in section["text"] for section in sections))


if __name__ == "__main__":
    unittest.main()
