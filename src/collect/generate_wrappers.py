#!/usr/bin/env python3
"""Writes the wrappers of an MPI's functions, from its own header as its compiler sees it.

    generate_wrappers.py --header preprocessed.h --local local_functions.txt --traced traced_functions.h --output FOLDER

Out come mpi_functions.h, the table of the functions that are wrapped and of the real ones behind them, mpi_wrappers.cc,
and for every source named by --sources a header with the traced functions of that source once more for MPI_Count (MPI 4:
MPI_Send_c beside MPI_Send), whose text is the same but for the types of the counts. A wrapper is

    int MPI_Send(const void* a1, int a2, ...) {
      const Call call(CallId::kMPI_Send);
      if (call.is_recorded()) return TracedMPI_Send(a1, a2, ...);   // where traced_functions.h declares one
      return real.MPI_Send(a1, a2, ...);
    }

It goes by both names, MPI_Send and PMPI_Send, because the Fortran bindings of both MPIs call the latter in places.
"""

import argparse
import fnmatch
import pathlib
import re

PROTOTYPE = re.compile(r"\bint\s+P(MPIX?_\w+)\s*\(")
PARAMETER = re.compile(r"^(?P<type>.*?)\b(?P<name>\w+)\s*(?P<array>(\[[^\]]*\]\s*)*)$", re.DOTALL)


def without_attributes(text):
    """Removes __attribute__((...)) with whatever is inside."""
    result, place = [], 0
    for match in re.finditer(r"__attribute__\s*\(", text):
        if match.start() < place:
            continue
        depth, end = 1, match.end()
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        result.append(text[place:match.start()])
        place = end
    return "".join(result) + text[place:]


def kind_of(parameter):
    """Type and array part of a parameter, with a name or without."""
    found = PARAMETER.match(parameter)
    if not found:
        return parameter, ""  # "const char *"
    kind, array = found["type"].strip(), found["array"].replace(" ", "")
    if kind in ("", "const") or found["name"] in ("int", "char", "void"):
        return (f"{kind} {found['name']}").strip(), array
    return kind, array


def functions_of(header):
    """Name and parameters, each (type, array), of every function that can be profiled and returns an error code."""
    text = "\n".join(line for line in header.splitlines() if not line.startswith("#"))
    text = without_attributes(text)
    functions = {}
    for match in PROTOTYPE.finditer(text):
        end = text.index(")", match.end())
        inside = " ".join(text[match.end():end].split())
        parameters = []
        if inside not in ("", "void"):
            for parameter in inside.split(","):
                parameter = parameter.strip()
                if parameter == "...":
                    parameters = None
                    break
                parameters.append(kind_of(parameter))
        functions[match.group(1)] = parameters
    return functions


class LocalFunctions:
    """What local_functions.txt lists."""

    def __init__(self, text):
        lines = [line.split("#")[0].strip() for line in text.splitlines()]
        self.patterns = [line for line in lines if line and not line.startswith("!")]
        self.exceptions = {line[1:] for line in lines if line.startswith("!")}

    def contains(self, name):
        plain = re.sub(r"_c$", "", name)
        return plain not in self.exceptions and any(fnmatch.fnmatchcase(plain, p) for p in self.patterns)


def declaration(parameters):
    return ", ".join(f"{kind} a{i}{array}" for i, (kind, array) in enumerate(parameters, 1)) or "void"


def wrapper(name, parameters, is_traced):
    declared = declaration(parameters)
    passed = ", ".join(f"a{i}" for i in range(1, len(parameters) + 1))
    traced = f"  if (call.is_recorded()) return Traced{name}({passed});\n" if is_traced else ""
    return (f"FARSCALE_EXPORT int {name}({declared}) {{\n  const Call call(CallId::k{name});\n{traced}"
            f"  return real.{name}({passed});\n}}\n"
            f'FARSCALE_EXPORT int P{name}({declared}) __attribute__((alias("{name}")));\n')


TRACED = re.compile(r"^int (TracedMPI_(\w+))\((.*?)\) \{\n(.*?)^\}\n", re.DOTALL | re.MULTILINE)


def with_large_counts(source, functions):
    """The traced functions of a source with counts of type MPI_Count, and their names."""
    names, code = [], ["// Written by generate_wrappers.py.\n"]
    for traced, plain, given, body in TRACED.findall(source):
        name = f"MPI_{plain}_c"
        if functions.get(name) is None:
            continue
        passed = [re.search(r"(\w+)(\[\])?$", parameter.strip()).group(1) for parameter in given.split(",")]
        declared = ", ".join(f"{kind} {word}{array}" for (kind, array), word in zip(functions[name], passed, strict=True))
        body = re.sub(rf"\breal\.MPI_{plain}\b", f"real.{name}", body)
        code.append(f"int {traced}_c({declared}) {{\n{body}}}\n")
        names.append(name)
    return "\n".join(code), names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--header", required=True, type=pathlib.Path)
    parser.add_argument("--local", required=True, type=pathlib.Path)
    parser.add_argument("--traced", type=pathlib.Path)
    parser.add_argument("--sources", nargs="*", default=[], type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    options = parser.parse_args()
    functions = functions_of(options.header.read_text())
    local = LocalFunctions(options.local.read_text())
    by_hand = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Comm_spawn",
               "MPI_Comm_spawn_multiple", "MPI_Session_init"]
    by_hand = [name for name in by_hand if name in functions]
    wrapped = sorted(name for name in functions
                     if not local.contains(name) and functions[name] is not None and name not in by_hand)
    traced = set(re.findall(r"\bTraced(MPI_\w+)\(", options.traced.read_text())) if options.traced else set()
    options.output.mkdir(parents=True, exist_ok=True)
    large = []
    for source in options.sources:
        text, names = with_large_counts(source.read_text(), functions)
        (options.output / f"{source.stem}_c.h").write_text(text)
        large += names
    table = ["// Written by generate_wrappers.py.", "#pragma once", "#include <mpi.h>",
             "namespace farscale::collect {", "enum class CallId : unsigned short {"]
    table += [f"  k{name}," for name in by_hand + wrapped]
    table += ["  kCount", "};", "inline constexpr const char* kCallNames[] = {"]
    table += [f'  "{re.sub("_c$", "", name)}",' for name in by_hand + wrapped]
    table += ["};", "struct RealFunctions {"]
    table += [f"  decltype(&P{name}) {name};" for name in by_hand + wrapped]
    table += ["};", "extern RealFunctions real;", "}  // namespace farscale::collect", ""]
    code = ["// Written by generate_wrappers.py.", '#include "mpi_functions.h"', '#include "collect/call.h"',
            '#include "collect/real_functions.h"']
    if options.traced:
        code += ['#include "collect/traced_functions.h"']
    code += ["namespace farscale::collect {"]
    code += [f"int Traced{name}({declaration(functions[name])});" for name in large]
    code += ["RealFunctions real;", "void FindRealFunctions() {"]
    code += [f'  real.{name} = FindReal<decltype(&P{name})>("P{name}");' for name in by_hand + wrapped]
    code += ["}", "}  // namespace farscale::collect", "using namespace farscale::collect;", 'extern "C" {']
    code += [wrapper(name, functions[name], name in traced or name in large) for name in wrapped]
    code += ["}", ""]
    (options.output / "mpi_functions.h").write_text("\n".join(table))
    (options.output / "mpi_wrappers.cc").write_text("\n".join(code))


if __name__ == "__main__":
    main()
