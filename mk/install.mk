# SPDX-License-Identifier: BSD-3-Clause
#
# `make install PREFIX=/usr/local` puts the command, the library, its modules, the benchmark programs, the laboratory, the man
# pages, completion for bash, a modulefile and what pkg-config reads where the command (tools/launch/places.c) and others look
# for them. DESTDIR stands in front, for packages; prefix is PREFIX, as others write it.

PREFIX       ?= $(or $(if $(filter command,$(firstword $(origin prefix))),$(prefix)),/usr/local)
PKGCONFIGDIR ?= $(PREFIX)/lib/pkgconfig
place         = $(DESTDIR)$(PREFIX)
# A folder's name as one word of the shell: what stands in DESTDIR is anybody's.
one_word      = '$(subst ','\'',$(1))'
at            = $(call one_word,$(place)/$(1))
# What sed is to write for the marks in a file: its own letters, of which PREFIX may have some, as letters.
sed_text      = $(subst |,\|,$(subst &,\&,$(subst \,\\,$(1))))
fill_in       = sed $(call one_word,s|@PREFIX@|$(call sed_text,$(PREFIX))|g; s|@VERSION@|$(CASTOFF_VERSION)|g)

# To uninstall is no harm.
PREFIX_FAULT := $(call preload_fault,$(PREFIX))
ifneq ($(and $(PREFIX_FAULT),$(filter install,$(MAKECMDGOALS))),)
$(error PREFIX ($(PREFIX)) has a $(PREFIX_FAULT), and nothing can be preloaded from there: choose another)
endif

# The laboratory without its tests: what is run, and what that sources.
LAB_FILES   := $(foreach script,$(wildcard tests/lab/*.sh),$(if $(findstring _test,$(script)),,$(script)))
LAB_SCRIPTS := $(shell grep -l '^.!/' $(LAB_FILES))
# For programs other than MPI's.
PUBLIC_HEADERS := src/onesided/group/castoff_group.h src/offload/api/castoff_offload.h \
  src/offload/api/castoff_offload_paper.h
MODULEFILES := share/castoff/modulefiles/castoff
COMPLETIONS := share/bash-completion/completions
pkgconfig    = $(call one_word,$(DESTDIR)$(PKGCONFIGDIR)$(1))

.PHONY: install uninstall
install: all bench-programs
	@mkdir -p $(call at,bin) && test -w $(call at,bin) || { printf 'make install: nothing can be installed below %s: %s\n' \
	  $(call at,) 'PREFIX=FOLDER says where, DESTDIR stands in front (docs/packages.md)' >&2; exit 1; }
	install -d $(call at,bin) $(call at,lib/castoff/bench) $(call at,share/castoff/lab) $(call at,share/man/man1) \
	  $(call at,share/man/man7) $(call at,include) $(call pkgconfig) $(call at,$(MODULEFILES)) $(call at,$(COMPLETIONS))
	install -m 755 $(BUILD)/castoff $(call at,bin)
	install -m 644 $(BUILD)/libcastoff.so $(BUILD)/libcastoff-*.so $(call at,lib/castoff)
	install -m 644 $(PUBLIC_HEADERS) $(call at,include)
	install -m 755 $(BENCH_PROGS) $(call at,lib/castoff/bench)
	install -m 644 $(filter-out $(LAB_SCRIPTS),$(LAB_FILES)) tests/lab/inject.c tests/lab/README.md $(call at,share/castoff/lab)
	install -m 755 $(LAB_SCRIPTS) $(call at,share/castoff/lab)
	install -m 644 env.example $(call at,share/castoff)
	install -m 644 $(wildcard docs/man/castoff*.1) $(call at,share/man/man1)
	install -m 644 docs/man/castoff.7 $(call at,share/man/man7)
	install -m 644 packages/castoff.bash $(call at,$(COMPLETIONS)/castoff)
	$(fill_in) packages/modulefile.in >$(call at,$(MODULEFILES)/$(CASTOFF_VERSION))
	for library in group offload; do $(fill_in) \
	  packages/castoff-$$library.pc.in >$(call pkgconfig,)/castoff-$$library.pc || exit; done

uninstall:
	rm -rf $(call at,bin/castoff) $(call at,lib/castoff) $(call at,share/castoff)
	rm -f $(foreach header,$(notdir $(PUBLIC_HEADERS)),$(call at,include/$(header))) \
	  $(foreach page,$(notdir $(wildcard docs/man/castoff*.1)),$(call at,share/man/man1/$(page))) \
	  $(call at,share/man/man7/castoff.7) $(call at,$(COMPLETIONS)/castoff) $(call pkgconfig,/castoff-group.pc) \
	  $(call pkgconfig,/castoff-offload.pc)
