# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack.package import *


class Tomlplusplus(CMakePackage):
    """TOML parser and serializer for C++17 and later, in headers alone."""

    homepage = "https://marzer.github.io/tomlplusplus"
    git = "https://github.com/marzer/tomlplusplus.git"

    license("MIT", checked_by="farscale")

    version("3.4.0", tag="v3.4.0")
    version("3.3.0", tag="v3.3.0")

    depends_on("cxx", type="build")
    depends_on("cmake@3.14:", type="build")
