"""The checks of the site find what they are for: each fault is planted once."""

import tempfile
import unittest
from pathlib import Path

import browse
import check
import conf
import sequence

GOOD = '<!doctype html><html lang="en"><head><title>a</title></head><body style="background: #fff"><h1>A</h1><h2 id="b">B</h2>{}</body></html>'


class Checks(unittest.TestCase):
    def faults(self, body):
        with tempfile.TemporaryDirectory() as folder:
            site = Path(folder).resolve()
            path = site / "a.html"
            path.write_text(GOOD.format(body))
            page = check.Page(path)
            return [*page.faults, *check.of_links(page, {path: page}, site), *check.of_loads(page, site), *check.of_headings(page)]

    def test_a_good_page_has_no_fault(self):
        picture = '<img src="data:image/gif;base64," alt="nothing">'
        picture += '<svg role="img"><title>nothing</title></svg>'
        self.assertEqual(self.faults(f'<a href="#b">b</a><a href="https://example.org">w</a>{picture}<h3>C</h3>'), [])

    def test_each_planted_fault_is_found(self):
        planted = {
            '<a href="gone.html">x</a>': "leads nowhere",
            '<a href="a.html#gone">x</a>': "no place of its page",
            '<script src="https://example.org/x.js"></script>': "asks elsewhere",
            '<link rel="stylesheet" href="//example.org/x.css">': "asks elsewhere",
            '<div style="background: url(https://example.org/x.png)"></div>': "asks elsewhere",
            '<img src="gone.png" alt="x">': "not there",
            '<img src="data:,">': "without words",
            '<svg role="img"></svg>': "without words",
            "<h4>D</h4>": "of level 4 behind one of 2",
            "<h1>E</h1>": "2 headings of the first level",
            "<h2> </h2>": "an empty heading",
        }
        for body, told in planted.items():
            found = self.faults(body)
            self.assertTrue(len(found) == 1 and told in found[0], (body, found))

    def test_contrast_is_that_of_wcag(self):
        self.assertAlmostEqual(check.contrast("#000000", "#ffffff"), 21)
        self.assertAlmostEqual(check.contrast("#777777", "#ffffff"), 4.48, places=2)
        faint = {**conf.LIGHT, "color-foreground-muted": "#999999"}
        self.assertEqual(len(check.of_palette("light", faint)), 2)

    def test_a_picture_says_in_words_what_it_draws(self):
        drawn = sequence.figure("T\na ~air~ b | c\na -x b: 1\nb ..> a: asks\nb -> c: 1\nc: done")
        self.assertIn('aria-label="T. a lost on the way to b: 1. b tells a: asks. b to c: 1. c: done"', drawn)
        self.assertEqual((drawn.count('class="lost"'), drawn.count("<polygon"), drawn.count('class="band"')), (1, 2, 1))
        self.assertNotIn("\n\n", drawn)


class Browsing(unittest.TestCase):
    def test_each_planted_fault_is_seen(self):
        planted = {
            "": "",
            '<div style="width: 900px">x</div>': "px wide",
            '<p style="color: #999">faint</p>': "contrast",
            "<script>console.error(1)</script>": "console",
            "<script>gone()</script>": "console",
            '<img src="gone.png" alt="x">': "not drawn",
            '<iframe title="x" src="http://127.0.0.1:9/"></iframe>': "asks elsewhere",
        }
        browser = browse.Browser(browse.find())
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "a.html"
            for body, told in planted.items():
                page.write_text(GOOD.format(body))
                found = browse.faults_of(browser, page)
                self.assertTrue(any(told in fault for fault in found) if told else not found, (body, found))
        browser.close()
