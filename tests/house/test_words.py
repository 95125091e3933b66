"""How pages, docstrings and messages are written: words of the field, sentences that end."""

import ast
import re

import pytest
from conftest import ROOT

#: Constructions that the style leaves out, each with what is written for it.
BANNED = {
    r"\bwho(so)?m?ever\b": "you, or the task",
    r"\bwhere\b": "if, when, with, in which",
    r"(?-i:\bwhat) (is|are|was|it|they|you|a|an|the|has|had|one|this|that)\b": "a noun",
    r"\berrs?\b|\berred\b": "makes errors, is less accurate",
    r"\btold\b|\btells?\b|\bsays?\b|\bsaid\b|\bheard\b|\bwonts?\b": "returns, reports, predicts",
    r"\bof (one's|your|its|their) own\b": "custom; its own …",
    r"\b(ours|yours|theirs)\b": "skstructured",
    r"(?<!there )\b(is|are|was|were|be) no\b(?! longer)": "is not a",
    r"\b(is|are|was|were|be) none\b": "is not one",
    r", also (?!known|called)": "even if, including",
    r"\bbeside\b": "compared with, next to",
    r", so that\b": "so",
    r"\bsome (ten|hundred|thousand|twenty|thirty|\d)": "about",
    r"\bas (it|they) (comes?|goe?s?|is|are)\b(?! (in|not))": "online, unscaled",
    r"\banew\b|\bin the place of\b": "again; instead of",
    r"\bgo(es)? on\b|\bgo(es)? by\b": "continues; uses, depends on",
    r"\bheld out\b(?= (rows|sets))|\b(rows|sequences|rounds) (that are )?held out\b": "held-out rows",
    r"\bsurely\b|\bhardly\b|\bnothing (but|to)\b": "significantly; barely; only, no",
    r"\b(to|can|could) be had\b|\bhands? (on|over)\b": "available; pass",
    r"\b(streams?|sets?) that (moves?|move)\b|\bmoving streams?\b": "drifting stream",
    r"\bwants\b": "needs",
    r"\bwith gaps\b|\bgaps (and|or|in) \w*(words|columns|cells|rows|tables)\b": "missing values",
    r"\bsearched\b": "tuned",
    r"\b(promis|enem|sureness|surest|likelier|like as not)": "guarantee, adversary, more likely",
    r"\b(standardis|regularis|optimis|normalis|generalis|randomis|initialis|minimis|maximis)": "-iz-",
    r"\b(neighbour|colour|labell|behaviour|licence|favour|centre\b|centred|modell)": "American spelling",
    r"(?<![\w.…])\.\d": "a zero before the point",
    r"\d %": "5%",
    r"\bdocs/\w+": "a link, or nothing",
}


def plain(text):
    """A text without code, formulas, comments and targets of links."""
    text = re.sub(r"^ *(`{3,}|:{3,}).*?^ *\1|<!--.*?-->|\$\$.*?\$\$", "", text, flags=re.S | re.M)
    text = re.sub(r"^ *\.\. (math|code-block)::.*?(?=\n\S|\Z)|^ *(>>>|\.\.\.) .*$", "", text, flags=re.S | re.M)
    text = re.sub(r"``.*?``|`[^`]*`_?|\$[^$]+\$", "CODE", text, flags=re.S)
    return re.sub(r"\]\([^)]*\)", "]", text)


def constructions(text):
    """Words that are listed, as they stand in a text."""
    found = ((hit.group(), use) for rule, use in BANNED.items() for hit in re.finditer(rule, text, re.I))
    return [f"{hit!r}: write {use}" for hit, use in found]


def long_sentences(text):
    """Sentences of more than 35 words, tables and headings apart."""
    text = re.sub(r"^ *(\||#).*$", "\n", text, flags=re.M)
    parts = re.split(r"(?<=[.!?:;])\s+(?=[A-Z`*\[\"(])|\n\s*\n|\n\s*[-*\d]+[. ] ", text)
    return [part.strip() for part in parts if len(re.findall(r"[A-Za-zÀ-ÿ']+", part)) > 35]


def pages():
    yield from ((path, path.read_text("utf-8")) for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def strings(tree):
    """Docstrings, and messages of errors and warnings."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield ast.get_docstring(node)
        if isinstance(node, ast.Raise) or "warn" in getattr(getattr(node, "func", 0), "attr", ""):
            texts = (n.value for n in ast.walk(node) if isinstance(n, ast.Constant))
            yield " ".join(text for text in texts if isinstance(text, str))


def modules():
    for path in [*(ROOT / "skstructured").rglob("*.py"), *(ROOT / "docs" / "examples").rglob("*.py")]:
        yield path, "\n\n".join(strings(ast.parse(path.read_text("utf-8"))))


@pytest.mark.parametrize("texts", [pages, modules])
def test_words_are_those_of_the_field_and_sentences_end(texts):
    wrong = {}
    for path, text in texts():
        text = plain(text)
        found = [*constructions(text), *(long_sentences(text) if texts is pages else [])]
        wrong |= {str(path.relative_to(ROOT)): found} if found else {}
    assert wrong == {}
