# SPDX-License-Identifier: BSD-3-Clause
#
# The version, which stands in the file VERSION (scripts/version.sh), and `make dist`: a tarball of what is committed, which
# builds without git.

VERSION_WORDS   := $(shell [ ! -r scripts/version.sh ] || sh scripts/version.sh)
CASTOFF_VERSION := $(word 1,$(VERSION_WORDS))
CASTOFF_COMMIT  := $(word 2,$(VERSION_WORDS))$(if $(word 3,$(VERSION_WORDS)), of $(word 3,$(VERSION_WORDS)))
MPI_VERSION_TEXT = $(shell $(MPICC) --showme:version 2>/dev/null | awk 'NR == 1 { print $$2, $$3, $$4 }')

# Changes when one of them does; two makes may look at the same time.
$(BUILD)/version: FORCE
	@mkdir -p $(@D)
	@echo '$(VERSION_WORDS), $(MPI_VERSION_TEXT)' >$(new) && if cmp -s $(new) $@; then rm -f $(new); else mv -f $(new) $@; fi

$(BUILD)/obj/tools/launch/version.o: $(BUILD)/version
$(BUILD)/obj/tools/launch/version.o: private ALL_CFLAGS += -DCASTOFF_VERSION='"$(CASTOFF_VERSION)"' \
  -DCASTOFF_COMMIT='"$(CASTOFF_COMMIT)"' -DCASTOFF_MPI_TEXT='"$(MPI_VERSION_TEXT)"'

.PHONY: version dist
version:
	@echo '$(VERSION_WORDS)'

DIST_NAME := castoff-$(CASTOFF_VERSION)
DIST      := $(BUILD)/$(DIST_NAME).tar.gz
dist:
	@[ -e .git ] || { echo "make dist packs a commit, and this is no git repository"; exit 1; }
	@git diff --quiet HEAD -- || echo "  what is not committed is left out"
	@mkdir -p $(BUILD)
	$(call say,DIST,$(DIST))
	$(Q)git archive --format=tar --prefix=$(DIST_NAME)/ HEAD >$(DIST).$$$$.tar && gzip -9n <$(DIST).$$$$.tar >$(DIST).$$$$ && mv -f $(DIST).$$$$ $(DIST) && \
	  rm -f $(DIST).$$$$.tar
