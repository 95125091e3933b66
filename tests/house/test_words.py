"""Pages, docstrings and messages use the words of the field, in sentences that end."""

import ast
import re

import pytest
from conftest import ROOT

#: Constructions that the style leaves out, and what is written for them.
BANNED = {
    r"who(so)?m?ever|his or her": "you, or the task",
    r"where": "if, when, with, in which",
    r"(?-i:what) (is|are|was|it|they|you|a|an|the|has|had|one|this|that)": "a noun",
    r"errs?|erred|told|tells?|says?|said|heard|wonts?|wants": "returns, predicts, needs",
    r"of (one's|your|its|their) own|(ours|yours|theirs)": "custom, its own; skstructured",
    r"(?<!there )(is|are|was|were|be) no(?! longer)|(is|are|was|were) (?-i:none)": "is not a",
    r"beside|, also (?!known|called)|, so that": "compared with; including; so",
    r"some (ten|hundred|thousand|twenty|thirty|\d+)": "about",
    r"as (it|they) (comes?|goe?s?|is|are)(?! (in|not))": "online, unscaled",
    r"anew|in the place of|go(es)? on|go(es)? by|hands? (on|over)": "again; continue; pass",
    r"(rows|sequences|rounds|sets) (that (are|were) )?held out": "held-out rows",
    r"surely|hardly|nothing (but|to)|(to|can|could) be had": "significantly; barely; only",
    r"(streams?|sets?) that moves?|moving streams?": "drifting stream",
    r"with gaps|gaps (and|or|in) \w*(words|columns|cells|rows|tables)": "missing values",
    r"searched|promis\w+|enem\w+|sureness|surest|likelier": "tuned; guarantee; adversary",
    r"\w*(ndard|egular|optim|ormal|eneral|andom|nitial|inim|axim)is(e|es|ed|ing|er)": "-iz-",
    r"\w*(neighbour|colour|labell|behaviour|licence|favour|centred|centre\b|modell)\w*": "American",
    r"\d %|docs/\w+": "5%; a link",
}  # fmt: skip
RULES = [(re.compile(rf"\b(?:{rule})(?!\w)", re.IGNORECASE), use) for rule, use in BANNED.items()]
RULES.append((re.compile(r"(?<![\w.…])\.\d"), "a zero before the point"))

#: What is left out: blocks of code, comments, formulas, examples; and names within a text.
BLOCKS = r"^ *(`{3,}|:{3,}).*?^ *\1|<!--.*?-->|\$\$.*?\$\$|^ *\.\. (math|code)\b.*?(?=\n\S|\Z)"
BLOCKS += r"|^ *(>>>|\.\.\.) [^\n]*$"
FORMAT = re.compile(r"[,.\d]*[a-z%]?")
NAMES = r"``.*?``|`[^`]*`_?|\$[^$]+\$"


def plain(text):
    """A text without code, formulas, comments and targets of links."""
    text = re.sub(BLOCKS, "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"\]\([^)]*\)", "]", re.sub(NAMES, "CODE", text, flags=re.DOTALL))


def constructions(text):
    """The listed constructions of a text, each with its replacement."""
    hits = ((hit.group(), use) for rule, use in RULES for hit in rule.finditer(text))
    return [f"{hit!r}: write {use}" for hit, use in hits]


def long_sentences(text):
    """Sentences of more than 35 words; tables and headings are not sentences."""
    text = re.sub(r"^ *(\||#).*$", "\n", text, flags=re.MULTILINE)
    ends = r"(?<=[.!?:;])\s+(?=[A-Z`*\[\"(])|\n\s*\n|\n\s*(?:[-*]|\d+\.)\s"
    return [s.strip() for s in re.split(ends, text) if len(re.findall(r"[A-Za-zÀ-ÿ']+", s)) > 35]


def strings_in(node):
    texts = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
    return " ".join(t for t in texts if isinstance(t, str) and not FORMAT.fullmatch(t))


def is_message(node):
    """Whether a statement raises or warns."""
    return isinstance(node, ast.Raise) or "warn" in getattr(getattr(node, "func", 0), "attr", "")


def strings(tree):
    """Docstrings, messages of errors and warnings, and what their functions build them from."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            yield ast.get_docstring(node) or ""
        if is_message(node):
            yield strings_in(node)
        if isinstance(node, ast.FunctionDef) and any(map(is_message, ast.walk(node))):
            assigned = (n for n in ast.walk(node) if isinstance(n, (ast.Assign, ast.AugAssign)))
            yield from map(strings_in, assigned)


@pytest.mark.parametrize("folder", ["", "docs", "skstructured"])
def test_words_are_those_of_the_field_and_sentences_end(folder):
    wrong = {}
    for path in (ROOT / folder).glob("**/*" if folder else "*"):
        page = path.suffix == ".md"
        if page or (path.suffix == ".py" and "gallery" not in path.parts and folder):
            text = path.read_text("utf-8")
            text = plain(text if page else "\n\n".join(strings(ast.parse(text))))
            found = constructions(text) + (long_sentences(text) if page else [])
            wrong |= {str(path.relative_to(ROOT)): found} if found else {}
    assert wrong == {}
