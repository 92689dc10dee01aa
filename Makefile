# SPDX-License-Identifier: BSD-3-Clause
#
# castoff: `make` builds, `make test` installs what is missing, builds and passes the tests, `make demo` shows the
# main job; `make help` names the rest. V=1 shows commands, DEV=1 (or CI=true) makes warnings errors,
# SAN=address,undefined or SAN=thread builds into build-<san>/ with sanitizers.

CC      ?= gcc
MPICC   ?= mpicc
V       ?= 0
SAN     ?=
comma   := ,
BUILD   := build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
# Sanitizers tell lines, not variables, and are compiled in half the time so.
CFLAGS  ?= $(if $(SAN),-O1 -g1,-O2 -g)
# Where packagers and people with libraries in places of their own say it.
CPPFLAGS ?=
LDFLAGS ?=
# A warning of a compiler that we have not met is no reason to build nothing; where we work on castoff, it is one to mend it. A
# function that nothing declares is a mistake everywhere, and GCC 14 ends there. What sanitizers watch is built without them, too,
# and better seen through there: the other warnings are that build's.
WARNINGS_FAIL := $(if $(filter 1,$(DEV))$(filter true,$(CI)),-Werror)
WARN    := -Werror=implicit $(if $(SAN),,-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes $(WARNINGS_FAIL))
# Hardening, of all that runs, above all of the daemons, which run as root; HARDEN=no is for measuring what it costs. What a
# compiler does not know for its machine is left out; sanitizers see more than _FORTIFY_SOURCE and do not go with it.
HARDEN   ?= yes
takes     = $(shell $(CC) -Werror $(1) -include string.h -x c -c -o /dev/null /dev/null 2>/dev/null && echo '$(1)')
FORTIFY  := $(if $(SAN),,$(if $(filter-out -O0,$(lastword $(filter -O%,$(CFLAGS)))),yes))
FORTIFY  := $(if $(FORTIFY),$(or $(call takes,-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3),$(call takes,-O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)))
HARDEN_C := $(if $(filter yes,$(HARDEN)),$(call takes,-fstack-protector-strong) $(call takes,-fcf-protection) $\
  $(call takes,-mbranch-protection=standard) $(filter-out -O2,$(FORTIFY)))
HARDEN_LD := $(if $(filter yes,$(HARDEN)),-Wl$(comma)-z$(comma)relro -Wl$(comma)-z$(comma)now)
# The preload is linked as one program: a small message passes through four folders. Objects hold machine code, too, for
# all that is linked otherwise.
LTO     := $(if $(SAN),,$(shell $(CC) --version 2>/dev/null | grep -q 'Free Software' && echo -flto=auto -ffat-lto-objects))
# For several processes gcc writes a makefile into TMPDIR, which a quote, "$$" or ";" in that name breaks; one needs none.
ifneq ($(shell printf %s "$$TMPDIR" | LC_ALL=C tr -d 'A-Za-z0-9/._ -'),)
LTO     := $(patsubst -flto=auto,-flto=1,$(LTO))
endif
# Where CFLAGS ask for it and objects hold nothing else (clang), all is linked so, and archives get their index from who reads it.
ASKED_LTO := $(if $(LTO),,$(filter -flto%,$(CFLAGS)))
ifneq ($(ASKED_LTO),)
ifeq ($(origin AR),default)
AR      := $(or $(shell command -v "$$($(CC) -print-prog-name=llvm-ar 2>/dev/null)"),ar)
endif
endif
# The same sources make the same bytes in any folder and at any time: debug information begins at this folder, and what
# link-time optimisation makes up by chance is made of the source's name. Where an object holds machine code and more, the
# assembler writes the folder, and has an option of its own. Sanitizers report whole paths. Folders with other letters (a quote,
# which breaks gcc; "=", ",") stay in what is made.
HAS_PLACE := $(if $(SAN)$(shell pwd | LC_ALL=C tr -d 'A-Za-z0-9/._+\n-'),,yes)
PLACELESS := $(and $(HAS_PLACE),$(call takes,-ffile-prefix-map=/a=.),-ffile-prefix-map=$(CURDIR)=.)
PLACELESS += $(and $(HAS_PLACE),$(LTO),$(call takes,-Wa$(comma)--debug-prefix-map=/a=.),-Wa$(comma)--debug-prefix-map=$(CURDIR)=.)
SEED_TAKEN := $(call takes,-frandom-seed=a)
ALL_CFLAGS := -std=gnu17 $(CPPFLAGS) $(CFLAGS) $(PLACELESS) $(HARDEN_C) $(WARN) -Isrc -I. -fPIC -fvisibility=hidden -pthread -MMD -MP $(LTO) $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer)
MPI_CFLAGS = $(shell $(MPICC) --showme:compile 2>/dev/null)
LDFLAGS_SAN := $(if $(SAN),-fsanitize=$(SAN),$(if $(LTO),-fno-lto)) $(if $(ASKED_LTO),$(CFLAGS)) $(HARDEN_LD) $(LDFLAGS)

# The dynamic linker takes LD_PRELOAD apart at blanks and colons: a library below such a folder reaches no program.
preload_fault = $(if $(filter-out 0 1,$(words $(1))),blank,$(if $(findstring :,$(1)),colon))
PLACE_FAULT  := $(call preload_fault,$(CURDIR))
PLACE_TEXT   = the path of this folder ($(CURDIR)) has a $(PLACE_FAULT), and nothing can be preloaded from there
ifneq ($(PLACE_FAULT),)
ifneq ($(filter demo test tool-tests bench-all plot,$(MAKECMDGOALS)),)
$(error $(PLACE_TEXT): move it)
else ifeq ($(MAKELEVEL),0)
$(warning $(PLACE_TEXT): move it, or use castoff from where make install puts it)
endif
endif

ifeq ($(V),0)
Q := @
say = @printf '  %-4s %s\n' $(1) $(2)
else
Q :=
say = @:
endif

# All of src but what knows mpi.h, the modules, which bring libraries along, one-sided multicast, and proxies.
CORE_SRC := $(filter-out src/pmpi/% src/mpi_below/% src/record/% src/modules/% src/onesided/% src/offload/% $\
  $(wildcard src/*/verbs/*.c src/*/*/rc/*.c),$(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c)) $(wildcard src/record/trace/*.c)
# Of mpi_below each ABI has its own (mk/mpich.mk has the other one).
PMPI_SRC := $(wildcard src/pmpi/*.c src/pmpi/*/*.c) $(addprefix src/mpi_below/,next_mpi.c open_mpi.c pmix.c)
# Of src/offload what a rank has of calls by proxies; the proxy itself is the command.
PROXIED_SRC := $(wildcard src/offload/collective/*.c src/offload/rank/*.c) \
  $(addprefix src/offload/api/offload_,counts.c nodes.c open.c ready.c why.c worlds.c) \
  $(addprefix src/offload/,core_list.c local_socket.c offload_command.c offload_hello.c offload_job.c segment.c segment_memory.c)
PROXIED_OBJ := $(PROXIED_SRC:%.c=$(BUILD)/obj/%.o)
CORE_OBJ := $(CORE_SRC:%.c=$(BUILD)/obj/%.o)
PMPI_OBJ := $(PMPI_SRC:%.c=$(BUILD)/obj/%.o)
# Linked in statically, symbols hidden: the preload must bring nothing but libc along.
STATIC_LIBS := -Wl,-Bstatic -lsodium -ljansson -Wl,-Bdynamic

.PHONY: all lib tools clean help
all: lib tools

lib: $(BUILD)/libcastoff.so
tools: $(BUILD)/castoff

# Under which name a line of the shell writes what it makes, before that comes into its place in one step: a job may begin at
# any moment. The number is the shell's: two makes in one folder do not write into each other's files.
new = $@.new.$$$$

# $(1): objects; $(2): its name.
link_preload = $(CC) -shared -o $(new) $(1) $(if $(LTO),$(CFLAGS) $(PLACELESS) $(HARDEN_C) $(LTO) $(HARDEN_LD) $(LDFLAGS),$(LDFLAGS_SAN)) -Wl,--version-script=src/mpi_below/exports.map \
  -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,-soname,$(2) $(STATIC_LIBS) -pthread -ldl && mv -f $(new) $@

$(BUILD)/libcastoff.so: $(CORE_OBJ) $(PMPI_OBJ) $(PROXIED_OBJ) src/mpi_below/exports.map
	$(call say,LD,$@)
	$(Q)$(call link_preload,$(CORE_OBJ) $(PMPI_OBJ) $(PROXIED_OBJ),libcastoff.so)

# Everything below src/pmpi, for unit tests, fuzz targets and tools: no MPI.
$(BUILD)/libcore.a: $(CORE_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $(new) && $(AR) rcs $(new) $^ && mv -f $(new) $@

# Where the compiler, too, puts what it writes: a build that was killed in the middle leaves nothing half-written that the
# next one takes for made. First what the object is made of: an older object is made again by it.
into_place = $(if $(SEED_TAKEN),-frandom-seed=$<) -MF $(new).d -MT $@ -o $(new) && mv -f $(new).d $(@:.o=.d) && mv -f $(new) $@ || { rm -f $(new).d; exit 1; }

# RECORD_OBJ: mk/modules.mk
$(BUILD)/obj/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CFLAGS) $(if $(filter $@,$(PMPI_OBJ) $(RECORD_OBJ)),$(MPI_CFLAGS)) -c $< $(into_place)

-include mk/mpich.mk mk/analyze.mk mk/onesided.mk mk/offload.mk mk/version.mk mk/tools.mk mk/tests.mk mk/check.mk mk/deps.mk mk/bench.mk mk/kernel.mk mk/fuzz.mk mk/demo.mk mk/readme.mk mk/install.mk mk/packages.mk mk/apps.mk mk/suites.mk tests/mpi/build.mk

clean:
	rm -rf build build-*

# tests/tools/documents_test.sh compares it with the targets.
help:
	@cat scripts/help.txt

-include $(CORE_OBJ:.o=.d) $(PMPI_OBJ:.o=.d)
