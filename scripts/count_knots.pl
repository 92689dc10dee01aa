#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# count_knots.pl <code: files of src that call each other in a ring, directly or by others, are a knot: none of them
# can be understood, tested or changed without the rest. Reads what scripts/code_only.pl prints of sources and headers. A
# file calls another one of the same top folder when it names a function or a variable that is defined there, itself or by
# an inline function of a header. Prints the knots, and fails if there are any.
use strict;
use warnings;

my (%words_of, %defined_in, %inline_words, %is_source);
my %body; # by file: lines
while (<STDIN>) {
    my ($name, $code) = /^(src\/[^:]+\.[ch]):\d+: (.*)$/ or next;
    push @{$body{$name}}, $code;
}

# Whatever leaves a file begins with co_ and is defined at the beginning of a line.
for my $name (sort keys %body) {
    my $text = join "\n", @{$body{$name}};
    $text =~ s/\b(struct|enum|union) co_\w+/$1/g; # a tag may be called as a function is
    if ($name =~ /\.c$/) {
        $is_source{$name} = 1;
        while ($text =~ /^(?!static\b|extern\b|typedef\b|\#)(?:[A-Za-z_][^;{}()=\n]*?\b)?(co_\w+)\s*(?:\([^;{}]*?\)\s*\{|(?:\[[^\]\n]*\]\s*)*[=;])/gm) {
            push @{$defined_in{$1}}, $name;
        }
        $words_of{$name}{$_} = 1 for $text =~ /\bco_\w+/g;
    } else {
        while ($text =~ /^static inline\b[^;{}()]*?\b(co_\w+)\s*\([^;{}]*\)\s*\{(.*?)^\}/gms) {
            my ($inline, $does) = ($1, $2);
            $inline_words{$inline}{$_} = 1 for $does =~ /\bco_\w+/g;
        }
    }
}

# Which files a file calls: by its words, and by those of the inline functions that they name.
my %calls;
for my $name (keys %is_source) {
    my %seen;
    my @todo = keys %{$words_of{$name}};
    while (defined(my $word = shift @todo)) {
        next if $seen{$word}++;
        push @todo, keys %{$inline_words{$word}} if $inline_words{$word};
        my ($folder) = $name =~ m{^src/([^/]+)/};
        for my $other (@{$defined_in{$word} // []}) {
            $calls{$name}{$other} = 1 if $other ne $name && $other =~ m{^src/\Q$folder\E/};
        }
    }
}

# Strongly connected parts, by Tarjan: `low` is the earliest file on the stack that a file leads to.
my (%number, %low, %on_stack, @stack, @knots);
sub visit {
    my ($at) = @_;
    $number{$at} = $low{$at} = keys %number;
    push @stack, $at;
    $on_stack{$at} = 1;
    for my $to (sort keys %{$calls{$at}}) {
        visit($to) if !exists $number{$to};
        $low{$at} = $low{$to} if $on_stack{$to} && $low{$to} < $low{$at};
    }
    return if $low{$at} != $number{$at};
    my @knot;
    do { push @knot, pop @stack; delete $on_stack{$knot[-1]} } while $knot[-1] ne $at;
    push @knots, [sort @knot] if @knot > 1;
}
no warnings 'recursion';
for my $name (sort keys %is_source) {
    visit($name) if !exists $number{$name};
}

sub folder_of {
    my ($folder) = $_[0][0] =~ m{(.*)/};
    for my $name (@{$_[0]}) {
        $folder =~ s{/[^/]+$}{} while index($name, "$folder/") != 0;
    }
    return $folder;
}

for my $knot (sort { @$b <=> @$a || $a->[0] cmp $b->[0] } @knots) {
    printf "%s: %d files call each other in a ring:\n", folder_of($knot), scalar @$knot;
    print "  $_\n" for @$knot;
}
exit(@knots > 0);
