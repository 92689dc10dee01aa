# SPDX-License-Identifier: BSD-3-Clause
#
# `make check-style` checks the rules of the code (scripts/check_style.sh), `make format` lays the code out as they
# want it, `make clang-tidy` looks for bugs that compilers do not see.

C_FILES = $(shell git ls-files -co --exclude-standard '*.c' '*.h' 2>/dev/null)

.PHONY: check-style format clang-tidy
check-style:
	@bash scripts/check_style.sh $(CHECKS)

format:
	$(Q)clang-format -i $(C_FILES)

TIDY_CHECKS := -*,bugprone-*,clang-analyzer-*,misc-redundant-expression,readability-misleading-indentation,$\
  -bugprone-easily-swappable-parameters,-bugprone-reserved-identifier,-bugprone-narrowing-conversions,$\
  -bugprone-assignment-in-if-condition,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling

clang-tidy:
	$(Q)clang-tidy --quiet --warnings-as-errors='*' --checks='$(TIDY_CHECKS)' $(filter src/%.c tools/%.c,$(C_FILES)) -- \
	  -std=gnu17 -Isrc -I. $(MPI_CFLAGS)
