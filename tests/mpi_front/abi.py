#!/usr/bin/env python3
# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
#
# abi.py ABI MPICC: what nigh declares of an ABI by itself (src/mpi/abi/ABI/mpi.h, functions.inc) against the mpi.h of a real
# library: every constant, the layout of a status, and the type of every function that this mpi.h has.
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ABI, MPICC = sys.argv[1], sys.argv[2]
SOURCE = Path(__file__).resolve().parents[2] / "src" / "mpi"
OWN = {"MPI_VERSION", "MPI_SUBVERSION", "MPI_Comm_f2c"}
FIELDS = {"openmpi": ("_cancelled", "_ucount"), "mpich": ("count_lo", "count_hi_and_cancelled"), "standard": ("MPI_internal",)}


def main():
    header = (SOURCE / "abi" / ABI / "mpi.h").read_text()
    constants = [c for c in re.findall(r"^#define (MPI_\w+) (.*?)(?: *//.*)?$", header, re.M) if c[0] not in OWN]
    functions = re.findall(r"^NIGH_MPI(?:_USED)?\((?:\w+, )?(\w+),\s*(\w+)\((.*?)\)\)$",
                           (SOURCE / "functions.inc").read_text(), re.M | re.S)
    if len(constants) < 120 or len(functions) < 370:
        sys.exit(f"only {len(constants)} constants and {len(functions)} functions were found")
    types = dict(re.findall(r"^using (MPI_\w+) = (.*);$", header, re.M))
    with tempfile.TemporaryDirectory() as folder:
        probe = Path(folder) / "probe.c"
        probe.write_text("#include <mpi.h>\n")
        real = subprocess.run([MPICC, "-E", str(probe)], capture_output=True, text=True, check=True).stdout
        text = "#include <mpi.h>\n#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\nint main(void) {\n  int wrong = 0;\n"
        known = 0
        for name, value in constants:
            if name == "MPI_COMBINER_VALUE_INDEX" and not re.search(rf"\b{name}\b", real):
                continue  # MPI 4.1
            text += f'  if ((intptr_t)({name}) != (intptr_t)({value})) wrong += printf("{name} is another\\n");\n'
        for field in ("MPI_SOURCE", "MPI_TAG", "MPI_ERROR", *FIELDS[ABI]):
            text += f'  printf("%zu ", offsetof(MPI_Status, {field}));\n'
        text += '  printf("%zu\\n", sizeof(MPI_Status));\n'
        for name, result, arguments in functions:
            if re.search(rf"\bMPI_{name}\s*\(", real):
                known += 1
                text += f"  {{ {result} (*same)({arguments or 'void'}) = MPI_{name}; (void)same; }}\n"
        for name in ("MPI_Aint", "MPI_Offset", "MPI_Count", "MPI_Comm", "MPI_Request", "MPI_Win", "MPI_File"):
            size = 4 if types[name] == "int" else 8
            text += f'  if (sizeof({name}) != {size}) wrong += printf("{name} has another size\\n");\n'
        text += "  return wrong != 0;\n}\n"
        check, program = Path(folder) / "check.c", Path(folder) / "check"
        check.write_text(text)
        built = subprocess.run([MPICC, "-std=gnu11", "-w", "-Werror=incompatible-pointer-types", "-Werror=int-conversion",
                                str(check), "-o", str(program)], capture_output=True, text=True)
        if built.returncode != 0:
            sys.exit(built.stderr[:3000])
        done = subprocess.run([str(program)], capture_output=True, text=True, timeout=30,
                              env=dict(os.environ, FI_PROVIDER="tcp"))
        expected = {"openmpi": "0 4 8 12 16 24", "mpich": "8 12 16 0 4 20", "standard": "0 4 8 12 32"}[ABI]
        if done.returncode != 0 or done.stdout.strip() != expected:
            sys.exit(f"{done.stdout}{done.stderr}expected {expected}")
        print(f"{len(constants)} constants, {known} of {len(functions)} functions")


main()
