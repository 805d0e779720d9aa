#!/usr/bin/env python3
"""Writes the wrappers of an MPI's functions, from its own header as its compiler sees it.

    generate_wrappers.py --header preprocessed.h --local local_functions.txt --traced traced_functions.txt \\
        --output FOLDER

Out come mpi_functions.h, the table of the functions that are wrapped and of the real ones behind them, and
mpi_wrappers.cc. A wrapper is

    int MPI_Send(const void* a1, int a2, ...) {
      const Call call(CallId::kMPI_Send);
      if (call.is_recorded()) return TracedMPI_Send(next.MPI_Send, a1, a2, ...);  // if traced_functions.txt lists it
      return next.MPI_Send(a1, a2, ...);
    }

and the same for PMPI_Send with `real` in the place of `next`, because the Fortran bindings of both MPIs call it in
places, and other tools that are loaded do.
Those of functions that begin or end a run are alike, and call a function of preload/lifetime.cc.
What is called of a traced function stays out of the wrapper, so that it costs runs that are not recorded nothing.
"""

import argparse
import fnmatch
import pathlib
import re

PROTOTYPE = re.compile(r"\bint\s+P(MPIX?_\w+)\s*\(")
# Not functions, but in traces they are regions like these; as Score-P names them.
OTHER_REGIONS = {"OpenMpParallel": "!$omp parallel", "OpenMpBarrier": "!$omp barrier",
                 "OpenMpImplicitBarrier": "!$omp implicit barrier", "OpenMpTask": "!$omp task",
                 "CudaRuntime": "CUDA runtime", "CudaKernel": "CUDA kernel", "CudaCopy": "CUDA copy",
                 "HipRuntime": "HIP runtime", "HipKernel": "HIP kernel", "HipCopy": "HIP copy"}
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
        parameters = [kind_of(one.strip()) for one in inside.split(",") if inside not in ("", "void")]
        functions[match.group(1)] = None if "..." in inside else parameters
    return functions


def is_local(name, text):
    """True if the patterns of local_functions.txt, which has this text, mean the function."""
    listed = [word for line in text.splitlines() for word in line.split("#")[0].split()]
    plain = re.sub(r"_c$", "", name)
    return "!" + plain not in listed and any(fnmatch.fnmatchcase(plain, pattern) for pattern in listed)


def declaration(parameters):
    return ", ".join(f"{kind} a{i}{array}" for i, (kind, array) in enumerate(parameters, 1)) or "void"


def traced_functions(text):
    """The function that records it, of every MPI function that traced_functions.txt lists."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {name: recorder for recorder, *names in rows for name in names}


def wrapper(name, parameters, recorder):
    declared = declaration(parameters)
    passed = ", ".join(f"a{i}" for i in range(1, len(parameters) + 1))
    code = []
    if recorder:
        code += [f"[[gnu::noinline]] static int Traced{name}(decltype(&P{name}) function, {declared}) {{",
                 f"  return {recorder}(function, {passed});", "}"]
    for called, behind in ((name, f"next.{name}"), (f"P{name}", f"real.{name}")):
        code += [f"FARSCALE_EXPORT int {called}({declared}) {{", f"  const Call call(CallId::k{name});"]
        if recorder:
            code += [f"  if (call.is_recorded()) return Traced{name}({behind}, {passed});"]
        code += [f"  return {behind}({passed});", "}"]
    return "\n".join(code)


# Of a function that begins or ends a run, or a process: what stands in preload/lifetime.cc.
def declared_by_hand(name, parameters):
    declared = declaration(parameters) if parameters else ""
    return f"int Wrapped{name}(decltype(&P{name}) function{', ' if declared else ''}{declared})"


def wrapper_by_hand(name, parameters):
    passed = "".join(f", a{i}" for i in range(1, len(parameters) + 1))
    return "\n".join(f"FARSCALE_EXPORT int {called}({declaration(parameters)}) "
                     f"{{ return Wrapped{name}({behind}{passed}); }}"
                     for called, behind in ((name, f"next.{name}"), (f"P{name}", f"real.{name}")))


def main():
    parser = argparse.ArgumentParser()
    for option in ("--header", "--local", "--traced", "--output"):
        parser.add_argument(option, required=True, type=pathlib.Path)
    options = parser.parse_args()
    functions = functions_of(options.header.read_text())
    local = options.local.read_text()
    by_hand = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize", "MPI_Abort", "MPI_Comm_spawn",
               "MPI_Comm_spawn_multiple", "MPI_Session_init", "MPI_Pcontrol"]
    by_hand = [name for name in by_hand if name in functions]
    wrapped = sorted(name for name in functions
                     if not is_local(name, local) and functions[name] is not None and name not in by_hand)
    traced = traced_functions(options.traced.read_text())
    options.output.mkdir(parents=True, exist_ok=True)
    table = ["// Written by generate_wrappers.py.", "#pragma once", "#include <mpi.h>"]
    table += ["#define FARSCALE_HAS_SESSIONS"] if "MPI_Session_init" in functions else []
    table += ["namespace farscale::collect {", "enum class CallId : unsigned short {"]
    table += [f"  k{name}," for name in by_hand + wrapped] + [f"  k{name}," for name in OTHER_REGIONS]
    table += ["  kCount", "};", "inline constexpr const char* kCallNames[] = {"]
    table += [f'  "{re.sub("_c$", "", name)}",' for name in by_hand + wrapped]
    table += [f'  "{text}",' for text in OTHER_REGIONS.values()]
    table += ["};", "struct RealFunctions {"]
    table += [f"  decltype(&P{name}) {name};" for name in by_hand + wrapped]
    table += ["};", "extern RealFunctions real, next;"]
    with_parameters = [name for name in by_hand if functions[name] is not None]
    table += [declared_by_hand(name, functions[name]) + ";" for name in with_parameters]
    table += ["}  // namespace farscale::collect", ""]
    code = ["// Written by generate_wrappers.py.", '#include "mpi_functions.h"', '#include "collect/preload/call.h"',
            '#include "collect/trace/traced_calls.h"', '#include "collect/trace/traced_collectives.h"',
            "namespace farscale::collect {", "RealFunctions real, next;", "void FindRealFunctions() {"]
    code += [f"  FindFunctions(\"P{name}\", real.{name}, next.{name});" for name in by_hand + wrapped]
    code += ["}", "}  // namespace farscale::collect", "using namespace farscale::collect;", 'extern "C" {']
    code += [wrapper_by_hand(name, functions[name]) for name in with_parameters]
    code += [wrapper(name, functions[name], traced.get(re.sub("_c$", "", name))) for name in wrapped]
    code += ["}", ""]
    (options.output / "mpi_functions.h").write_text("\n".join(table))
    (options.output / "mpi_wrappers.cc").write_text("\n".join(code))


if __name__ == "__main__":
    main()
