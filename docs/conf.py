"""Settings of the site: ``sphinx-build -W docs docs/_build/html`` makes it, offline."""

import html
import importlib.util
import inspect
import os
import pkgutil
import re
import sys
import textwrap
from pathlib import Path
from xml.etree import ElementTree

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.ext.autodoc.mock import mock

import skstructured

HERE = Path(__file__).resolve().parent
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.append(str(HERE / "snippets"))  # the example of decisions reads a space from there

project = "skstructured"
author = "The skstructured developers"
copyright = f"2026, {author}. BSD 3-Clause license"
version = release = skstructured.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "examples", "note"]
default_role = "py:obj"

# Markdown pages are read on GitHub too: plain links between files, no directives but figures.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
numpydoc_show_class_members = False
autodoc_typehints = "none"
#: Without PyTorch, the reference has its module, but its example does not run.
autodoc_mock_imports = [] if importlib.util.find_spec("torch") else ["torch"]
smartquotes = False


#: Folders of the examples, in the order of the pages by task.
TASKS = [
    *("classify", "tag", "grade", "rank", "match", "sequences", "choose", "uncertainty"),
    *("streams", "curves", "bandits", "regression", "decide"),
]

#: Examples that run: without PyTorch, that with a network is shown, and does not run.
RUN = "plot_" if importlib.util.find_spec("torch") else "plot_(?!network)"

sphinx_gallery_conf = {
    "filename_pattern": RUN,
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "subsection_order": [f"examples/{task}" for task in TASKS],
    "within_subsection_order": "FileNameSortKey",
    "matplotlib_animations": False,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "doc_module": ("skstructured",),
    "reference_url": {"skstructured": None},
    "backreferences_dir": "gallery/backreferences",
    "remove_config_comments": True,
    "write_computation_times": False,
}

toc_object_entries_show_parents = "hide"
html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "skstructured"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_favicon = "_static/favicon.svg"
html_search_scorer = str(HERE / "_static" / "scorer.js")
html_show_sourcelink = False
html_use_index = False
html_theme_options = {
    "logo": {"text": f"skstructured {release}"},
    "show_prev_next": True,
    "navbar_align": "left",
    "navbar_center": ["header.html"],
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_context = {"default_mode": "auto"}
html_sidebars = {"**": ["contents.html"], "index": []}


def public_names():
    """Short name of every public thing, and its full name."""
    found = {}
    rooms = [m.name for m in pkgutil.iter_modules(skstructured.__path__) if m.name[0] != "_"]
    with mock(autodoc_mock_imports):
        modules = [importlib.import_module(f"skstructured.{room}") for room in rooms]
    for module in (skstructured, *modules):
        for name in module.__all__:
            found.setdefault(name, f"{module.__name__}.{name}")
    return found


PUBLIC = public_names()


def link_short_names(app, env, node, content):
    """Resolve short names: `Simplex` links to ``skstructured.spaces.Simplex``."""
    name, _, member = node.get("reftarget", "").partition(".")
    if node.get("refdomain") != "py" or name not in PUBLIC:
        return None
    full = PUBLIC[name] + (member and f".{member}")
    builder, page = app.builder, node.get("refdoc")
    domain = env.get_domain("py")
    return domain.resolve_xref(env, page, builder, "obj", full, node, content)


#: What learners do for those who play rounds with them: on the page of `OnlineLearner` alone.
PROTOCOL = {name for name in vars(skstructured.OnlineLearner) if name[0] != "_"} - {"certificate"}


def skip_internals(app, what, name, thing, skip, options):
    """Leave out what scikit-learn and PyTorch add, the protocol of rounds, and constants."""
    function = inspect.unwrap(getattr(thing, "fget", None) or getattr(thing, "__func__", thing))
    module = getattr(function, "__module__", None) or ""
    protocol = name in PROTOCOL and not app.env.docname.endswith(".OnlineLearner")
    constant = isinstance(thing, (bool, int, float, str, dict, tuple))
    return True if protocol or constant or module.startswith(("sklearn.", "torch.")) else None


#: Code within a text, which is kept, and what reStructuredText would read in the rest.
CODE = re.compile(r"(``.*?``|`[^`]+`_?)", flags=re.DOTALL)
MARKUP = re.compile(r"(?<=\w)_(?!\w)|\|")


def is_verbatim(line):
    """Whether a line is an example, or a directive whose body follows it, indented."""
    return line.lstrip().startswith((">>>", "...", ".. "))


def escaped(lines):
    """Lines of a text whose names and bars mean nothing."""
    parts = CODE.split("\n".join(lines))
    parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "".join(parts).split("\n")


def keep_names_and_bars(app, what, name, thing, options, lines):
    """Keep ``coef_`` and |i − j| from becoming links and substitutions."""
    found, text, verbatim = [], [], None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        if verbatim is not None and line.strip() and depth <= verbatim:
            verbatim = None
        if verbatim is not None or is_verbatim(line):
            found, text = [*found, *(escaped(text) if text else []), line], []
            verbatim = depth if verbatim is None and line.lstrip().startswith(".. ") else verbatim
        else:
            text.append(line)
            verbatim = depth if line.rstrip().endswith("::") else None
    lines[:] = [*found, *(escaped(text) if text else [])]


#: A formula may break before these, and behind commas.
BREAKS = set("=≤≥<>≈∝→⇒⟹∈+−-")
ElementTree.register_namespace("", "http://www.w3.org/1998/Math/MathML")


def lines_of(formula):
    """A displayed formula as MathML of parts, between which lines may break."""
    parts, depth = [[]], 0
    row = ElementTree.fromstring(formula)[0]
    for node in row:
        text = node.text if node.tag.endswith("mo") else ""
        if depth == 0 and text in BREAKS and parts[-1]:
            node.set("form", "infix")
            parts.append([])
        parts[-1].append(node)
        depth += (text in {"(", "[", "{"}) - (text in {")", "]", "}"})
        if depth == 0 and text == ",":
            parts.append([])
    rows = ["".join(ElementTree.tostring(n, "unicode") for n in part) for part in parts if part]
    return " ".join(f'<math displaystyle="true"><mrow>{row}</mrow></math>' for row in rows)


def write_formula(translator, node):
    """A formula as MathML, which browsers draw by themselves, offline too."""
    display = node.tagname == "math_block"
    formula = convert(node.astext(), display="block" if display else "inline")
    shown = f'<div class="formula">{lines_of(formula)}</div>' if display else formula
    translator.body.append(shown)
    raise nodes.SkipNode


#: Links of the pages to the examples, which on GitHub are scripts and folders of them.
EXAMPLE = re.compile(r"\]\(((?:\.\./)*)examples(/\w+)?(?:/(plot_\w+)\.py)?\)")
#: Links of the pages to kept results of the benchmarks, which on GitHub are texts.
RESULT = re.compile(r"\]\(((?:\.\./)?)\.\./benchmarks/(\w+)/results/(\w+)\.txt\)")


def link_to_pages(app, name, content):
    """Scripts, their folders and kept results have pages here."""
    content[0] = EXAMPLE.sub(
        lambda m: f"]({m[1]}gallery{m[2] or ''}/{m[3] or 'index'}.rst)", content[0]
    )
    content[0] = RESULT.sub(r"](\1results/\2_\3.rst)", content[0])


def write_results(app):
    """A page for every kept result that a page links to, and one that lists them."""
    texts = (path.read_text("utf-8") for path in [*HERE.glob("*.md"), *HERE.glob("tasks/*.md")])
    linked = {found[1:] for text in texts for found in RESULT.findall(text)}
    names = [f"   benchmarks.{part}.{name} <{part}_{name}>" for part, name in sorted(linked)]
    head = f":nosearch:\n\nResults of the benchmarks\n{'=' * 25}\n\n.. toctree::\n\n"
    pages = {"index": head + "\n".join(names)}
    for part, name in linked:
        file = HERE.parent / "benchmarks" / part / "results" / f"{name}.txt"
        first, _, rest = file.read_text("utf-8").partition("\n")
        title = first.removeprefix("command: ")
        block = ".. code-block:: text\n   :class: result\n\n" + textwrap.indent(rest, "   ")
        pages[f"{part}_{name}"] = f":nosearch:\n\n{title}\n{'=' * len(title)}\n\n{block}"
    (HERE / "results").mkdir(exist_ok=True)
    for path in (HERE / "results").glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = HERE / "results" / f"{name}.rst"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def keep_spreads_together(app, doctree):
    """``0.267 ± 0.011`` stays on its line."""
    for text in list(doctree.findall(nodes.Text)):
        kept = re.sub(r"(?:(?<=\d)|^) ± (?=\d)", "\u00a0±\u00a0", text)
        if kept != text and not isinstance(text.parent, nodes.literal_block):
            text.parent.replace(text, nodes.Text(kept))


def describe(app, page, template, context, doctree):
    """Description for search engines, and whether a page is long enough for a table of contents."""
    if doctree is None:
        return
    paragraphs = (node.astext() for node in doctree.findall(nodes.paragraph))
    first = next((" ".join(text.split()) for text in paragraphs if len(text) > 40), project)
    text = html.escape(textwrap.shorten(first, 160, placeholder=" …"), quote=True)
    context["metatags"] += f'\n<meta name="description" content="{text}" />'
    if page == "index":
        context["title"] = "skstructured: structured prediction for scikit-learn"
        context["docstitle"] = ""
    if sum(1 for _ in doctree.findall(nodes.section)) < 5 and not page.startswith("api"):
        context["secondary_sidebar_items"] = []  # room for code and tables


def setup(app):
    """Called by Sphinx."""
    app.connect("builder-inited", write_results)
    app.connect("source-read", link_to_pages)
    app.connect("doctree-read", keep_spreads_together)
    app.connect("html-page-context", describe, priority=900)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("autodoc-process-docstring", keep_names_and_bars, priority=900)
    app.connect("missing-reference", link_short_names)
    app.connect("autodoc-skip-member", skip_internals)
