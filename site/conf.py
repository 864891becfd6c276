"""How Sphinx makes the site. Nothing of a page comes from elsewhere: fonts are the reader's, scripts and styles lie beside it."""

project = html_title = "airtcp"
extensions = ["myst_parser"]
# Anchors as forges make them, so that a link leads to the same place here and there.
myst_heading_anchors = 5
smartquotes = False
highlight_language = "text"
# Files of scenarios and output of commands have examples with an ellipsis in them.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "furo"
templates_path = ["templates"]
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_copy_source = html_show_sourcelink = html_use_index = html_show_sphinx = html_show_copyright = False
# Summaries would be fetched, which browsers refuse to a page that was opened from a disk.
html_show_search_summary = False

# site/check.py holds each foreground to a contrast of 4.5 on both backgrounds.
LIGHT = {
    "color-background-primary": "#ffffff",
    "color-background-secondary": "#f3f5f7",
    "color-foreground-primary": "#1b1f24",
    "color-foreground-secondary": "#434b54",
    "color-foreground-muted": "#565f69",
    "color-brand-primary": "#0b5394",
    "color-brand-content": "#0b5394",
    "color-brand-visited": "#6a2c91",
    "picture-own": "#0b5394",
    "picture-lost": "#b3261e",
}
DARK = {
    "color-background-primary": "#14181d",
    "color-background-secondary": "#1b2026",
    "color-foreground-primary": "#dde3ea",
    "color-foreground-secondary": "#b4bdc7",
    "color-foreground-muted": "#98a2ad",
    "color-brand-primary": "#83bdf2",
    "color-brand-content": "#83bdf2",
    "color-brand-visited": "#cda4ec",
    "picture-own": "#83bdf2",
    "picture-lost": "#ff8a80",
}
html_theme_options = {"light_css_variables": LIGHT, "dark_css_variables": DARK, "top_of_page_buttons": []}
