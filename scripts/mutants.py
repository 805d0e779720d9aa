"""Finds the single changes that scripts/mutate makes in C++ sources: operators, constants, conditions, statements.

Sources are read as tokens, not parsed. What tells an operator from a template argument or a pointer is that clang-format
puts spaces around binary operators alone. Comments, strings, includes, static_asserts, template arguments, what
declarations of members start with, and statements that only reserve memory stay as they are.
"""

import dataclasses
import hashlib
import re

TOKEN = re.compile(r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<string>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|(?:u8|[uUL])?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
  | (?P<include>^[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<number>(?:0[xX][\da-fA-F']+|(?:\d[\d']*)?\.?\d[\d']*\.?(?:[eE][+-]?\d+)?)[uUlLfF]*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<operator><=>|->\*|<<=|>>=|\.\.\.|::|->|\+\+|--|<<|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,.(){}\[\]])
""", re.VERBOSE | re.DOTALL | re.MULTILINE)

BINARY = {"<": ("<=", ">"), "<=": ("<", ">"), ">": (">=", "<"), ">=": (">", "<"), "==": ("!=",), "!=": ("==", "<"),
          "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("*",), "&&": ("||",), "||": ("&&",), "&": ("|",),
          "|": ("&",), "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "|=": ("&=",), "&=": ("|=",)}
FUNCTIONS = {"min": ("max",), "max": ("min",), "min_element": ("max_element",), "max_element": ("min_element",),
             "lower_bound": ("upper_bound",), "upper_bound": ("lower_bound",), "any_of": ("all_of", "none_of"),
             "all_of": ("any_of",), "none_of": ("any_of",), "floor": ("ceil",), "ceil": ("floor",)}
WORDS = {"true": ("false",), "false": ("true",)}
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}
NOT_CALLED = {"return", "if", "for", "while", "switch", "case", "default", "else", "do", "using", "namespace", "class",
              "struct", "enum", "template", "typedef", "public", "private", "protected", "friend", "static_assert", "goto",
              "const", "constexpr", "static", "auto", "inline", "operator", "try", "catch", "delete", "new"}
ONLY_SPEED = {"reserve", "shrink_to_fit", "__builtin_prefetch"}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    begin: int
    end: int


@dataclasses.dataclass(frozen=True)
class Change:
    file: str  # from the root of the sources
    line: int
    text: str  # of that line
    what: str  # "'<' to '<='"
    begin: int
    end: int
    new: str

    @property
    def key(self):
        """What stays the same while the rest of the file changes."""
        return f"{self.file}|{self.text}|{self.what}"

    def apply(self, source):
        return source[:self.begin] + self.new + source[self.end:]


def tokens_of(source):
    """Names, numbers and operators."""
    return [Token(match.lastgroup if match.lastgroup != "mark" else "string", match.group(), *match.span())
            for match in TOKEN.finditer(source)
            if match.group("comment") is None and match.group("string") is None and match.group("include") is None]


def hash_of(*parts):
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()


class Finder:
    """The places of one file. A place has one or more replacements, of which the seed takes one."""

    def __init__(self, source):
        self.source = source
        self.tokens = tokens_of(source)
        self.partner = self.match_brackets()
        self.scopes = self.find_scopes()
        self.left_out = self.find_left_out()
        self.places = []  # (begin, end, what is there, replacements)

    def text(self, i):
        return self.tokens[i].text if 0 <= i < len(self.tokens) else ""

    def match_brackets(self):
        partner, open_ones = {}, []
        for i, token in enumerate(self.tokens):
            if token.text in "([{" and token.kind == "operator":
                open_ones.append(i)
            elif token.text in ")]}" and token.kind == "operator" and open_ones:
                partner[i] = open_ones.pop()
                partner[partner[i]] = i
        return partner

    def scope_of_brace(self, brace, around):
        """'code', 'type' or 'namespace', by what stands before a brace."""
        if around == "code":
            before = self.statement_before(brace)
            return "type" if before and before[0] in ("struct", "class", "enum", "union") else "code"
        before = self.statement_before(brace)
        while before[:1] == ["template"] or (before and before[0] == "<"):
            before = before[1:]
        if "namespace" in before:
            return "namespace"
        if any(word in before for word in ("struct", "class", "enum", "union")) and ")" not in before:
            return "type"
        last = self.text(brace - 1)
        is_body = last in (")", "const", "noexcept", "override", "}") or (")" in before and "=" not in before)
        return "code" if is_body and ")" in before else around

    def statement_before(self, brace):
        words, i = [], brace - 1
        while i >= 0 and self.text(i) not in (";", "{", "}"):
            words.append(self.text(i))
            i -= 1
        return words[::-1]

    def find_scopes(self):
        """Of every token, the innermost scope that says what it is."""
        scopes, around = [], ["namespace"]
        for i, token in enumerate(self.tokens):
            if token.text == "}" and len(around) > 1:
                around.pop()
            scopes.append(around[-1])
            if token.text == "{":
                around.append(self.scope_of_brace(i, around[-1]))
        return scopes

    def find_left_out(self):
        """Tokens of static_asserts and of statements that only make things faster."""
        left_out = set()
        for i, token in enumerate(self.tokens):
            if token.text == "static_assert" or token.text in ONLY_SPEED:
                begin = i
                while token.text in ONLY_SPEED and begin > 0 and self.text(begin - 1) not in (";", "{", "}", ")", "else"):
                    begin -= 1
                end = i
                while end < len(self.tokens) and self.text(end) != ";":
                    end += 1
                left_out.update(range(begin, end + 1))
        return left_out

    def is_spaced(self, token):
        return self.source[token.begin - 1] in " \n" and self.source[token.end:token.end + 1] in (" ", "\n")

    def is_code(self, i):
        return self.scopes[i] == "code"

    def in_for_header(self, i):
        while i >= 0:
            if self.text(i) == ")" and i in self.partner:
                i = self.partner[i]
            elif self.text(i) == "(":
                return self.text(i - 1) == "for"
            elif self.text(i) in "{}":
                return False
            i -= 1
        return False

    def add(self, begin, end, what, replacements):
        if replacements:
            self.places.append((begin, end, what, replacements))

    def find(self):
        for i, token in enumerate(self.tokens):
            if i in self.left_out:
                continue
            if token.kind == "operator":
                self.look_at_operator(i, token)
            elif token.kind == "number":
                self.look_at_number(i, token)
            else:
                self.look_at_name(i, token)
            self.look_at_statement(i)
        return sorted(self.places, key=lambda place: (place[0], place[1]))

    def look_at_operator(self, i, token):
        if not self.is_code(i):
            return
        if token.text in BINARY and self.is_spaced(token):
            self.add(token.begin, token.end, None, BINARY[token.text])
        elif token.text in ("++", "--") and not self.in_for_header(i):
            self.add(token.begin, token.end, None, ("--" if token.text == "++" else "++",))
        elif token.text == "!":
            self.add(token.begin, token.end, None, ("",))

    def look_at_number(self, i, token):
        begins_member = self.scopes[i] == "type" and "constexpr" not in self.statement_before(i)
        is_argument = self.source[token.begin - 1] == "<" or self.source[token.end] == ">"
        if begins_member or is_argument:
            return
        self.add(token.begin, token.end, None, replacements_of(token.text))

    def look_at_name(self, i, token):
        if not self.is_code(i):
            return
        if token.text in WORDS:
            self.add(token.begin, token.end, None, WORDS[token.text])
        elif token.text in FUNCTIONS and self.text(i - 1) == "::" and self.text(i - 2) == "std":
            self.add(token.begin, token.end, None, FUNCTIONS[token.text])
        elif token.text in ("if", "while") and self.text(i + 1) == "(" and i + 1 in self.partner:
            self.look_at_condition(i + 1, self.partner[i + 1])

    def look_at_condition(self, opening, closing):
        inside = [self.text(i) for i in range(opening + 1, closing)]
        if ";" in inside or "=" in inside:  # it declares something
            return
        if inside[0] == "!" and not {"&&", "||"} & set(inside):  # the same as without its !
            return
        begin, end = self.tokens[opening].end, self.tokens[closing].begin
        self.add(begin, end, "condition negated", (f"!({self.source[begin:end]})",))

    def begins_statement(self, i):
        before = self.text(i - 1)
        if before in (";", "{", "}", "else", "do"):
            return True
        if before == ":":
            return self.text(i - 2) == "default" or "case" in self.statement_before(i)[:1]
        if before == ")" and i - 1 in self.partner:
            keyword = self.text(self.partner[i - 1] - 1)
            return keyword in ("if", "for", "while", "switch", "constexpr")
        return False

    def look_at_statement(self, i):
        """Calls, assignments, throws and jumps; of returns those of nothing or of a text. Not declarations."""
        if not self.is_code(i) or not self.begins_statement(i):
            return
        end = self.end_of_statement(i)
        if end is None:
            return
        first = self.text(i)
        is_jump = first in ("break", "continue", "throw") or (first == "return" and end == i + 1)
        if first == "break" and self.text(i - 1) == ":" and self.text(i - 2) == "default":
            return
        if is_jump or self.does_something(i, end):
            self.add(self.tokens[i].begin, self.tokens[end].begin, "statement dropped", ("",))

    def end_of_statement(self, i):
        while i < len(self.tokens):
            if self.text(i) in ("(", "[", "{"):
                if i not in self.partner:
                    return None
                i = self.partner[i]
            elif self.text(i) == ";":
                return i
            elif self.text(i) in (")", "]", "}"):
                return None
            i += 1
        return None

    def does_something(self, i, end):
        if self.text(i) in ("++", "--", "*"):
            return True
        if self.tokens[i].kind != "name" and self.text(i) != "(":
            return False
        if self.text(i) in NOT_CALLED:
            return False
        called = False
        while i < end:
            text = self.text(i)
            if text in ("(", "["):
                called = called or text == "("
                i = self.partner[i]
            elif text in ASSIGNMENTS or text in ("++", "--"):
                return self.text(i + 1) not in ("default", "delete")
            elif text == "<<":
                return True
            elif self.tokens[i].kind == "name":
                if self.tokens[i - 1].kind == "name" and self.text(i - 1) not in ("else", "do"):
                    return False  # a type and what it declares
            elif text not in ("::", ".", "->"):
                return False
            i += 1
        return called


def replacements_of(number):
    body = number.rstrip("uUlLfF") if not number.lower().startswith("0x") else number.rstrip("uUlL")
    suffix = number[len(body):]
    body = body.replace("'", "")
    if re.fullmatch(r"\d+|0[xX][\da-fA-F]+", body):
        value = int(body, 0) if body.lower().startswith("0x") else int(body)
        return tuple(f"{other}{suffix}" for other in (value + 1, value - 1) if other >= 0)
    value = float(body)
    return (f"{2 * value!r}{suffix}", f"{value / 2!r}{suffix}") if value else (f"1.0{suffix}",)


def describe(old, new):
    return f"'{old}' dropped" if new == "" else f"'{old}' to '{new}'"


def ordinal(n):
    return f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n, 'th') }"


def changes_of(file, source, seed):
    """One change for every place of a file, in the order of the text."""
    lines = source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    line_of, line = {}, 0
    places = Finder(source).find()
    changes, seen, of_text = [], {}, {}
    for begin, end, what, replacements in places:
        while starts[line + 1] <= begin:
            line += 1
        text = lines[line].strip()
        if line not in line_of:
            of_text[text] = of_text.get(text, 0) + 1
            line_of[line] = of_text[text]
        old = source[begin:end]
        place = what or f"'{old}'"
        number = seen[line, place] = seen.get((line, place), 0) + 1
        where = f", {ordinal(number)} on the line" if number > 1 else ""
        where += f", {ordinal(line_of[line])} such line" if line_of[line] > 1 else ""
        new = replacements[int(hash_of(seed, file, text, place, where), 16) % len(replacements)]
        changes.append(Change(file, line + 1, text, (what or describe(old, new)) + where, begin, end, new))
    return changes
