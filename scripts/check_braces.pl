#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Reads what code_only.pl prints and names every if, for, while and else whose body has no braces. Status 1 if any.
use strict;
use warnings;

my (%text, @files);
while (<STDIN>) {
    my ($file, $code) = /^(.*?):\d+: (.*)$/s or next;
    push @files, $file unless exists $text{$file};
    $text{$file} .= $code;
}
my $found = 0;
for my $file (@files) {
    # Macros hold statements too, but their backslashes would hide the ends of lines.
    (my $code = $text{$file}) =~ s/\\\n/ \n/g;
    while ($code =~ /\b(?:(if|for|while|switch)\s*(\((?:[^()]++|(?2))*+\))|(else))\s*(\S\w*)/g) {
        my ($word, $next, $at) = ($1 // $3, $4, pos $code);
        next if $next =~ /^\{/ || ($word eq 'else' && $next eq 'if') || $next eq '\\';
        my $before = substr($code, 0, $-[0]);
        next if $word eq 'while' && $before =~ /\} *$/; # the end of do { } while
        next if substr($before, rindex($before, "\n") + 1) =~ /^\s*#\s*\w*$/; # the preprocessor has words alike
        printf "%s:%d: %s without braces\n", $file, ($before =~ tr/\n//) + 1, $word;
        $found = 1;
    }
}
exit $found;
