# SPDX-License-Identifier: BSD-3-Clause
#
# `make deps` installs the Debian packages that are missing (scripts/install_packages.sh says how); with nothing
# missing it takes a moment. A fresh Debian 12 with git and make is enough to start from.

# Without these nothing is built.
DEPS_BUILD := gcc libc6-dev openmpi-bin libopenmpi-dev libsodium-dev libjansson-dev libunwind-dev \
  libxxhash-dev libibverbs-dev librdmacm-dev zlib1g-dev

# Without these something is slower: tags of datagrams on the newer x86-64.
DEPS_FAST := $(if $(filter x86_64,$(shell uname -m)),libipsec-mb-dev)

# Without one of these some tests, the laboratories, the benchmarks or the plots are skipped.
DEPS_TEST := g++ gfortran libcmocka-dev python3-mpi4py gnuplot-nox iproute2 nftables procps man-db \
  spin clang llvm libclang-rt-dev clang-format clang-tidy valgrind udpcast uftp libnorm-dev libnorm-doc mpich libmpich-dev \
  qemu-system-x86 busybox-static kmod cpio xz-utils ibverbs-providers ibverbs-utils rdmacm-utils \
  gcc-riscv64-linux-gnu libc6-dev-riscv64-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user debootstrap

# For Debian packages of castoff alone (make deb).
DEPS_DEB := debhelper dpkg-dev libmpich-dev lintian pkg-config

.PHONY: deps
deps:
	@sh scripts/install_packages.sh $(DEPS_BUILD) -- $(DEPS_FAST) $(DEPS_TEST)
