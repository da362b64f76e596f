"""The supported languages: file suffixes, grammars, and what counts as a definition in each.

A query marks a function with ``@function``, a class or another type with ``@type``, and a namespace, which only
qualifies its contents, with ``@space``. ``@name`` is the written name, ``@owner`` the type that a Go method
belongs to, and ``@prelude`` a decorator or attribute on the lines above a definition.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    import tree_sitter

FILLER = "execledger_filler"
"""The name in the heads that complete a fragment; it never appears in a result."""


class Language(Struct, frozen=True):
    """How fragments of one language are parsed and completed."""

    name: str
    """The language, and the end of its grammar's module name."""
    query: str = ""
    """What counts as a definition."""
    type_head: str = ""
    """Opens a type, for methods that need one; "" if methods may be at the top level."""
    method_head: str = ""
    """Opens a function within a type."""
    function_head: str = ""
    """Opens a function."""
    lambda_head: str = ""
    """Opens a function among the arguments of a call; "" where there is none."""
    indented: bool = False
    """Python: its text is read without a grammar."""


class Grammar(Struct, frozen=True):
    """A loaded grammar with its compiled queries."""

    syntax: tree_sitter.Language
    """The grammar."""
    definitions: tree_sitter.Query
    """Finds the definitions."""
    faults: tree_sitter.Query
    """Finds what the parser could not place, or had to make up."""
    brackets: tree_sitter.Query
    """Finds every bracket."""


JAVASCRIPT = """
(class_declaration name: (_) @name) @type
[(function_declaration name: (_) @name) (generator_function_declaration name: (_) @name)] @function
(method_definition name: (_) @name) @function
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @function
(variable_declarator name: (identifier) @name value: (class)) @type
(assignment_expression left: [(identifier) (member_expression object: [(identifier) (member_expression)])] @name
  right: [(arrow_function) (function_expression) (generator_function)]) @function
(assignment_expression left: [(identifier) (member_expression object: (identifier))] @name right: (class)) @type
(decorator) @prelude
"""

JAVASCRIPT_FIELDS = """
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @function
"""

TYPESCRIPT_TYPES = """
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @function
(abstract_class_declaration name: (_) @name) @type
[(function_signature name: (_) @name) (abstract_method_signature name: (_) @name)] @function
[(interface_declaration name: (_) @name) (enum_declaration name: (_) @name)] @type
(type_alias_declaration name: (_) @name) @type
[(internal_module name: (identifier) @name) (module name: (identifier) @name)] @space
"""

GO = """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration
  type: [(type_identifier) (generic_type) (pointer_type)] @owner)) name: (_) @name) @function
[(type_spec name: (_) @name) (type_alias name: (_) @name)] @type
"""

JAVA = """
[(class_declaration name: (_) @name) (interface_declaration name: (_) @name) (enum_declaration name: (_) @name)
 (record_declaration name: (_) @name) (annotation_type_declaration name: (_) @name)] @type
[(method_declaration name: (_) @name) (constructor_declaration name: (_) @name)
 (compact_constructor_declaration name: (_) @name)] @function
"""

RUST = """
[(function_item name: (_) @name) (function_signature_item name: (_) @name) (macro_definition name: (_) @name)] @function
[(struct_item name: (_) @name) (enum_item name: (_) @name) (union_item name: (_) @name) (trait_item name: (_) @name)
 (type_item name: (_) @name)] @type
(impl_item type: [(type_identifier) (generic_type) (scoped_type_identifier)] @name) @type
(impl_item type: (reference_type type: [(type_identifier) (generic_type) (scoped_type_identifier)] @name)) @type
(mod_item name: (_) @name body: (_)) @space
(attribute_item) @prelude
"""

C = """
(function_definition declarator: [
  (function_declarator declarator: (_) @name)
  (pointer_declarator declarator: (function_declarator declarator: (_) @name))
  (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (_) @name)))
]) @function
[(struct_specifier name: (_) @name body: (_)) (union_specifier name: (_) @name body: (_))
 (enum_specifier name: (_) @name body: (_))] @type
(type_definition type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_))
  (enum_specifier !name body: (_))] declarator: (type_identifier) @name) @type
(preproc_function_def name: (_) @name) @function
"""

CPP = """
(function_definition declarator: (reference_declarator (function_declarator declarator: (_) @name))) @function
(class_specifier name: (_) @name body: (_)) @type
(namespace_definition name: (_) @name) @space
"""


def _braces(name: str, query: str, *heads: str) -> Language:
    """A language of curly braces, with the heads that open a type, a method, a function and a lambda."""
    first, second, third, fourth = (f"{head} {{".replace("X", FILLER) if head else "" for head in heads)
    return Language(name, query, first, second, third, fourth)


_JS_HEADS = ("class X", "X()", "function X()", "() =>")
_PYTHON = Language("python", indented=True)
_JAVASCRIPT = _braces("javascript", JAVASCRIPT + JAVASCRIPT_FIELDS, *_JS_HEADS)
_TYPESCRIPT = _braces("typescript", JAVASCRIPT + TYPESCRIPT_TYPES, *_JS_HEADS)
_TSX = _braces("tsx", JAVASCRIPT + TYPESCRIPT_TYPES, *_JS_HEADS)
_GO = _braces("go", GO, "", "", "func X()", "func()")
_JAVA = _braces("java", JAVA, "class X", "void X()", "void X()", "() ->")
_RUST = _braces("rust", RUST, "impl X", "fn X()", "fn X()", "||")
_C = _braces("c", C, "", "", "void X()", "")
_CPP = _braces("cpp", C + CPP, "struct X", "void X()", "void X()", "[]")

# A header may be C or C++; the C++ grammar reads nearly all of C.
SUFFIXES = (
    dict.fromkeys(("py", "pyi", "pyw"), _PYTHON)
    | dict.fromkeys(("js", "jsx", "mjs", "cjs"), _JAVASCRIPT)
    | dict.fromkeys(("ts", "mts", "cts"), _TYPESCRIPT)
    | {"tsx": _TSX, "go": _GO, "java": _JAVA, "rs": _RUST, "c": _C}
    | dict.fromkeys(("h", "hh", "hpp", "hxx", "cc", "cpp", "cxx"), _CPP)
)
"""The language of a file, by the end of its name."""


def language_of(path: str) -> Language | None:
    """The language of a file; None if it is not one of ours."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return SUFFIXES.get(suffix.lower()) if stem and dot else None


def is_readable(language: Language) -> bool:
    """Definitions can be found in texts of this language."""
    return language.indented or grammar_of(language) is not None


@cache
def grammar_of(language: Language) -> Grammar | None:
    """The grammar of a language, imported when first asked for; None if it is not installed or does not fit."""
    try:
        from tree_sitter import Language as Syntax
        from tree_sitter import Query

        syntax = Syntax(_load(language.name))
        faults = Query(syntax, "(ERROR) @error (MISSING) @missing")
        brackets = Query(syntax, '["{" "}" "(" ")" "[" "]"] @bracket')
        return Grammar(syntax, Query(syntax, language.query), faults, brackets)
    except Exception:  # An optional grammar may be absent, broken or too new.
        return None


def _load(name: str) -> object:
    """The grammar as its own package gives it."""
    match name:
        case "javascript":
            from tree_sitter_javascript import language
        case "typescript":
            from tree_sitter_typescript import language_typescript as language
        case "tsx":
            from tree_sitter_typescript import language_tsx as language
        case "go":
            from tree_sitter_go import language
        case "java":
            from tree_sitter_java import language
        case "rust":
            from tree_sitter_rust import language
        case "c":
            from tree_sitter_c import language
        case _:
            from tree_sitter_cpp import language
    return language()
