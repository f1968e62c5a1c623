"""The declarations of C headers, as cffi's cdef() reads them.

The C preprocessor expands the headers. What remains are the types, enums and functions of the library's own headers:
definitions of inline functions, attributes and everything of the system's headers are left out. cffi's API mode lets
the compiler check each declaration against the headers when the extension is built.
"""

import re
import subprocess

_LINE_MARKER = re.compile(r'# \d+ "(.*)"')
_ATTRIBUTE = re.compile(r"\b__(?:attribute|extension)__\b")


def read_declarations(
    compiler: list[str], flags: list[str], headers: list[str], folder: str = "kinformer[a-z-]*"
) -> str:
    """Returns the declarations of `headers`, such as "kinformer/kinformer.h", and of the headers of the library that
    they include.

    compiler: the command of the C compiler. flags: its options, with those that find the headers. folder: a regular
    expression of the folders whose headers count.
    """
    source = "".join(f"#include <{header}>\n" for header in headers)
    expanded = subprocess.run(
        [*compiler, "-E", *flags, "-x", "c", "-"], input=source, stdout=subprocess.PIPE, check=True, text=True
    ).stdout
    own = []
    is_own = False
    for line in expanded.splitlines():
        marker = _LINE_MARKER.match(line)
        if marker:
            is_own = re.search(rf"/{folder}/(parts/)?[a-z_]+\.h$", marker[1]) is not None
        elif is_own:
            own.append(line)
    return _without_inline_functions(_without_attributes("\n".join(own)))


def _without_attributes(text: str) -> str:
    while match := _ATTRIBUTE.search(text):
        end = match.end()
        if text.startswith("((", end):
            end = _closing(text, end, "(", ")")
        text = text[: match.start()] + text[end:]
    return text


def _without_inline_functions(text: str) -> str:
    while (begin := text.find("static inline")) >= 0:
        text = text[:begin] + text[_closing(text, text.index("{", begin), "{", "}") :]
    return text


def _closing(text: str, begin: int, opening: str, closing: str) -> int:
    """Returns the place after the bracket that closes the one at `begin`."""
    depth = 0
    for place in range(begin, len(text)):
        depth += (text[place] == opening) - (text[place] == closing)
        if depth == 0:
            return place + 1
    raise ValueError(f"no {closing} closes the {opening} at {begin}")
