# SPDX-License-Identifier: BSD-3-Clause
#
# Recipe of castoff for Spack, in a repository of packages (repo.yaml) whose interface Spack 0.23 and 1.x know;
# docs/packages.md says how it is added. The tarball is that of make dist, in the folder where spack is called.
import os

from spack.package import *


class Castoff(MakefilePackage):
    """Serves broadcasts, allgathers and messages of unmodified MPI programs by reliable multicast and shared memory."""

    homepage = "https://REPOSITORY"
    url = "file://{0}/castoff-0.2.0.tar.gz".format(os.getcwd())
    manual_download = True

    license("BSD-3-Clause")

    version("0.2.0")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("openmpi@4.1:5.0", type=("build", "link", "run"))
    # Linked in statically, so that the preload brings nothing but the C library along.
    depends_on("libsodium")
    depends_on("jansson~shared")
    depends_on("libunwind")
    depends_on("rdma-core")
    depends_on("xxhash")
    depends_on("zlib-api")

    build_targets = ["all", "bench-programs"]

    @property
    def install_targets(self):
        return ["PREFIX={0}".format(self.prefix), "install"]

    # A modulefile of Spack's own comes beside the one in share/castoff/modulefiles.
    def setup_run_environment(self, env):
        env.prepend_path("PKG_CONFIG_PATH", self.prefix.lib.pkgconfig)
