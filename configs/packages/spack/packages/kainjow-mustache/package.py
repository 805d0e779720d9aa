# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack.package import *


class KainjowMustache(Package):
    """Mustache templates for C++11 and later in one header."""

    homepage = "https://github.com/kainjow/Mustache"
    git = "https://github.com/kainjow/Mustache.git"

    license("BSL-1.0", checked_by="farscale")

    version("4.1", tag="v4.1")

    def install(self, spec, prefix):
        mkdirp(prefix.include.kainjow)
        install("mustache.hpp", prefix.include.kainjow)
