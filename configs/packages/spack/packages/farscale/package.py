# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack.package import *


class Farscale(CMakePackage):
    """Predicts how an MPI program scales to core counts nobody has run, from OTF2 or Paraver traces of small runs.

    Every phase is reduced to its efficiency factors (load balance, serialization, transfer, computation scalability);
    each factor is fitted and extrapolated by itself, and reported in HTML and Markdown."""

    # A mirror or a checkout serves as the source: spack develop --path CHECKOUT farscale@main
    git = "file:///path/to/farscale"

    license("BSD-3-Clause", checked_by="farscale")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    variant("collector", default=True, description="Libraries that farscale measure and farscale trace load into programs")
    variant("man", default=True, description="Manual pages, made from the help texts")

    depends_on("c", type="build", when="+collector")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.7:", type="build", when="+collector")
    depends_on("help2man", type="build", when="+man")

    depends_on("otf2@3:")
    depends_on("ceres-solver@2.1:")
    depends_on("eigen@3.4:")
    depends_on("muparser@2.3:")
    depends_on("tomlplusplus@3.3:")
    depends_on("nlohmann-json@3.11:")
    depends_on("cli11@2.1:")
    depends_on("kainjow-mustache@4.1:")
    depends_on("fmt@9:")
    depends_on("tbb")
    depends_on("boost@1.74:")
    depends_on("openssl@3:")
    depends_on("isa-l@2.30:")
    depends_on("mpi", when="+collector")

    conflicts("%gcc@:11", msg="farscale is written in C++20")

    generator("ninja")

    def cmake_args(self):
        args = [
            self.define("FARSCALE_TESTS", self.run_tests),
            self.define("FARSCALE_PROGRAM_TESTS", False),
            self.define("FARSCALE_UNITY", True),
            self.define_from_variant("FARSCALE_COLLECT", "collector"),
        ]
        if self.spec.satisfies("+collector"):
            args.append(self.define("FARSCALE_MPIS", f"mpi={self.spec['mpi'].mpicc}"))
        return args

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.farscale)("--version")
