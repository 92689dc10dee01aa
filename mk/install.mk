# SPDX-License-Identifier: BSD-3-Clause
#
# `make install PREFIX=/usr/local` puts the command, the library, its modules, the benchmark programs, the laboratory, the man
# pages, completion for bash, a modulefile and what pkg-config reads where the command (tools/launch/places.c) and others look
# for them. DESTDIR stands in front, for packages; prefix is PREFIX, as others write it.

PREFIX       ?= $(or $(if $(filter command,$(firstword $(origin prefix))),$(prefix)),/usr/local)
PKGCONFIGDIR ?= $(PREFIX)/lib/pkgconfig
place         = $(DESTDIR)$(PREFIX)

# The laboratory without its tests.
LAB_SCRIPTS := $(foreach script,$(wildcard tests/lab/*.sh),$(if $(findstring _test,$(script)),,$(script)))
# For programs other than MPI's.
PUBLIC_HEADERS := src/onesided/group/castoff_group.h src/offload/api/castoff_offload.h \
  src/offload/api/castoff_offload_paper.h
MODULEFILES = $(place)/share/castoff/modulefiles/castoff
COMPLETIONS = $(place)/share/bash-completion/completions

.PHONY: install uninstall
install: all bench-programs
	install -d $(place)/bin $(place)/lib/castoff/bench $(place)/share/castoff/lab $(place)/share/man/man1 $(place)/share/man/man7 \
	  $(place)/include $(DESTDIR)$(PKGCONFIGDIR) $(MODULEFILES) $(COMPLETIONS)
	install -m 755 $(BUILD)/castoff $(place)/bin
	install -m 644 $(BUILD)/libcastoff.so $(BUILD)/libcastoff-*.so $(place)/lib/castoff
	install -m 644 $(PUBLIC_HEADERS) $(place)/include
	install -m 755 $(BENCH_PROGS) $(place)/lib/castoff/bench
	install -m 644 tests/lab/inject.c tests/lab/README.md $(place)/share/castoff/lab
	install -m 755 $(LAB_SCRIPTS) $(place)/share/castoff/lab
	install -m 644 env.example $(place)/share/castoff
	install -m 644 $(wildcard docs/man/castoff*.1) $(place)/share/man/man1
	install -m 644 docs/man/castoff.7 $(place)/share/man/man7
	install -m 644 packages/castoff.bash $(COMPLETIONS)/castoff
	sed 's|@PREFIX@|$(PREFIX)|g; s|@VERSION@|$(CASTOFF_VERSION)|g' packages/modulefile.in >$(MODULEFILES)/$(CASTOFF_VERSION)
	sed 's|@PREFIX@|$(PREFIX)|g; s|@VERSION@|$(CASTOFF_VERSION)|g' packages/castoff-group.pc.in >$(DESTDIR)$(PKGCONFIGDIR)/castoff-group.pc

uninstall:
	rm -rf $(place)/bin/castoff $(place)/lib/castoff $(place)/share/castoff
	rm -f $(addprefix $(place)/include/,$(notdir $(PUBLIC_HEADERS))) $(addprefix $(place)/share/man/man1/,$(notdir $(wildcard docs/man/castoff*.1))) \
	  $(place)/share/man/man7/castoff.7 \
	  $(COMPLETIONS)/castoff $(DESTDIR)$(PKGCONFIGDIR)/castoff-group.pc
