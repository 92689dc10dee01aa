#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# code_only.pl FILE...: prints C files as "file:line: code", comments and the contents of strings blanked, so that the
# style checks can search the code without being fooled by its prose. Lines of #include keep their names.
use strict;
use warnings;

for my $file (@ARGV) {
    open(my $stream, '<', $file) or die "$file: $!\n";
    my $text = do { local $/; <$stream> };
    # A comment, a string, a character or an include line, whichever begins first.
    $text =~ s{(^\s*\#\s*include[^\n]*)|(//[^\n]*)|(/\*.*?\*/)|("(?:\\.|[^"\\\n])*")|('(?:\\.|[^'\\\n])*')}{
        defined $1 ? $1 : defined $2 ? '' : defined $3 ? "\n" x ($3 =~ tr/\n//) : defined $4 ? '""' : "' '"
    }gesmx;
    my $line = 0;
    printf "%s:%d: %s\n", $file, ++$line, $_ for split /\n/, $text, -1;
}
