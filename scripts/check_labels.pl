#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# check_labels.pl FILE...: each use of acquire or release order in src has a label beside it, in a comment on its line, on
# the six lines before it or on the next, and a label that one side of a module names, the other one names, too ("release R1" and
# "acquire R1"; "acq_rel R1" is both). A module is a folder of src. S and a digit is no label: comments name papers so.
# Called by scripts/check_style.sh.
use strict;
use warnings;

my $order = qr/\bco_(?:load_acquire|store_release|(?:add|sub)_acq_rel)\b|\bmemory_order_(?:acquire|release|acq_rel)\b/;
my $label = qr/[A-Z][0-9]?\b/;
my $labels = qr/$label(?:(?:,| and|, and| or) $label)*/;

my (%sides, $failed);
for my $name (@ARGV) {
    my ($module) = $name =~ m{^src/([^/]+)/} or next;
    next if $name eq 'src/base/atomics.h'; # where the operations are made
    open my $file, '<', $name or die "$name: $!\n";
    my @lines = <$file>;
    my @comments = map { m{//(.*)} ? $1 : '' } @lines;
    for my $i (0 .. $#lines) {
        (my $code = $lines[$i]) =~ s{//.*}{};
        next if $code !~ $order || $code =~ /\batomic_signal_fence\b/;
        my $from = $i < 6 ? 0 : $i - 6;
        my $near = join ' ', @comments[$from .. ($i < $#lines ? $i + 1 : $i)];
        next if $near =~ /\b(?:acq_rel|[Aa]cquire|[Rr]elease)s? $label/;
        printf "%s:%d: no label says who the other side is\n", $name, $i + 1;
        $failed = 1;
    }
    my $all = join ' ', @comments;
    $all =~ s/\s+/ /g;
    while ($all =~ /\b(acq_rel|[Aa]cquire|[Rr]elease)s? ($labels)/g) {
        my ($side, $named) = (lc $1, $2);
        for my $one ($named =~ /$label/g) {
            if ($one =~ /^S[0-9]$/) {
                print "$name: the label $one is the name of a paper (docs/design.md)\n";
                $failed = 1;
            }
            $sides{$module}{$one}{acquire} //= $name if $side ne 'release';
            $sides{$module}{$one}{release} //= $name if $side ne 'acquire';
        }
    }
}
for my $module (sort keys %sides) {
    for my $one (sort keys %{$sides{$module}}) {
        my $has = $sides{$module}{$one};
        my ($side, $other) = $has->{acquire} ? qw(acquire release) : qw(release acquire);
        next if $has->{$other};
        print "$has->{$side}: \"$side $one\", and no \"$other $one\" in src/$module\n";
        $failed = 1;
    }
}
exit($failed ? 1 : 0);
