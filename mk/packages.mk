# SPDX-License-Identifier: BSD-3-Clause
#
# `make deb` builds Debian packages of what is committed (packages/deb.sh), in build/deb, and has lintian look at them;
# `make test-deb` tries them on bare Debians in a folder (tests/deb/bare_debian.sh; root, network). Both take minutes, and no
# other target needs them.

.PHONY: deb test-deb
deb: dist
	@sh scripts/install_packages.sh $(DEPS_BUILD) $(DEPS_DEB) --
	@sh packages/deb.sh $(DIST) $(BUILD)/deb

test-deb: deb
	@bash tests/deb/bare_debian.sh $(BUILD)/deb
