# SPDX-License-Identifier: BSD-3-Clause
#
# `make install PREFIX=/usr/local` puts the command, the library, its modules, the benchmark programs, the laboratory and
# the man pages where the command looks for them (tools/launch/places.c). DESTDIR stands in front, for packages.

PREFIX ?= /usr/local
prefix  = $(DESTDIR)$(PREFIX)

# The laboratory without its tests.
LAB_SCRIPTS := $(foreach script,$(wildcard tests/lab/*.sh),$(if $(findstring _test,$(script)),,$(script)))

.PHONY: install uninstall
install: all bench-programs
	install -d $(prefix)/bin $(prefix)/lib/castoff/bench $(prefix)/share/castoff/lab $(prefix)/share/man/man1 $(prefix)/share/man/man7 \
	  $(prefix)/include
	install -m 755 $(BUILD)/castoff $(prefix)/bin
	install -m 644 $(BUILD)/libcastoff.so $(BUILD)/libcastoff-*.so $(prefix)/lib/castoff
	install -m 644 src/onesided/group/castoff_group.h src/offload/api/castoff_offload.h src/offload/api/castoff_offload_paper.h \
	  $(prefix)/include
	install -m 755 $(BENCH_PROGS) $(prefix)/lib/castoff/bench
	install -m 644 tests/lab/inject.c tests/lab/README.md $(prefix)/share/castoff/lab
	install -m 755 $(LAB_SCRIPTS) $(prefix)/share/castoff/lab
	install -m 644 docs/man/castoff.1 $(prefix)/share/man/man1
	install -m 644 docs/man/castoff.7 $(prefix)/share/man/man7

uninstall:
	rm -rf $(prefix)/bin/castoff $(prefix)/lib/castoff $(prefix)/share/castoff
	rm -f $(prefix)/include/castoff_group.h $(prefix)/include/castoff_offload.h $(prefix)/include/castoff_offload_paper.h
	rm -f $(prefix)/share/man/man1/castoff.1 $(prefix)/share/man/man7/castoff.7
