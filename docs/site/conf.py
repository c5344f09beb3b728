"""Settings of the documentation site: ``make docs`` builds it into build/site, from which it opens without a server."""

from __future__ import annotations

import sys
from pathlib import Path

SITE = Path(__file__).parent
sys.path.insert(0, str(SITE))

from rankwise import __version__ as release

project = "rankwise"
copyright = "the authors of rankwise, BSD 3-Clause"
extensions = ["myst_parser", "sphinx.ext.autodoc", "made_from_sources", "glossary_links"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["site", "images"]

myst_enable_extensions = ["deflist", "colon_fence"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

nitpicky = True
# Types of other projects, and of ours that are told in words: no page of this site is about them.
nitpick_ignore_regex = [("c:.*", ".*"), ("py:(class|data|obj)", ".*")]

html_theme = "furo"
html_title = f"rankwise {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_show_search_summary = False  # it would be fetched, which a page opened from a folder may not
html_theme_options = {"navigation_with_keys": True}
smartquotes = False  # "--" is an option
pygments_style = "friendly"

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
maximum_signature_line_length = 100
