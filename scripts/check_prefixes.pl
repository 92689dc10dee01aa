#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# check_prefixes.pl <code: a function that leaves its file begins with co_ and a word of its folder's own: who reads
# co_nack_send_due knows that it is the protocol's. So no first word stands in two folders of src, but for those in the
# table below, each of which has its reason. Reads what scripts/code_only.pl prints of sources and headers.
use strict;
use warnings;

# Word, and the folders that may have it. No row is to be added: a word with two meanings is the wrong one for one of them.
my %shared = (
    call => 'engine pmpi',              # what a call is; what is counted of it
    chunk => 'mcast base',              # of the protocol; its bitmap
    descriptors => 'base engine',       # that are left; the job's budget of them
    gmac => 'base modules',             # who loads it; the module
    liveness => 'mcast engine',         # of peers; whose is proof
    native => 'p2p pmpi',               # the channel by the MPI below; the calls that it is made of
    onesided => 'onesided engine',      # the library; collectives by it
    receive => 'mcast transport',       # of chunks; the queue of a device's receives
    shm => 'shm base',                  # collectives in shared memory; segments of it
    stack => 'base modules',            # who loads it; the module
    transport => 'transport engine',    # the contract; the names of its kinds
);

my (%text_of, %file_of, $failed); # file_of: word, folder
while (<STDIN>) {
    my ($name, $code) = /^(src\/[^:]+\.[ch]):\d+: (.*)$/ or next;
    $text_of{$name} .= "$code\n";
}
for my $name (sort keys %text_of) {
    my ($folder) = $name =~ m{^src/([^/]+)/} or next;
    my $text = $text_of{$name};
    $text =~ s/\b(struct|enum|union) co_\w+/$1/g; # a tag may be called as a function is
    my $begins = $name =~ /\.c$/ ? qr/(?!static\b|extern\b|typedef\b|\#)/ : qr/static inline /;
    while ($text =~ /^$begins(?:[A-Za-z_][^;{}()=\n]*?\b)?co_([a-z0-9]+)\w*\s*\([^;{}]*?\)\s*\{/gm) {
        $file_of{$1}{$folder} //= $name;
    }
}
for my $word (sort keys %file_of) {
    my %may = map { $_ => 1 } split ' ', $shared{$word} // '';
    my @folders = sort keys %{$file_of{$word}};
    next if @folders < 2 || !grep { !$may{$_} } @folders;
    print "co_$word: in ", join(' and ', map { $file_of{$word}{$_} } @folders), "\n";
    $failed = 1;
}
for my $word (sort keys %shared) {
    next if keys %{$file_of{$word} // {}} != 1;
    print "co_$word stands in one folder: it needs no row in check_prefixes.pl any more\n";
    $failed = 1;
}
exit($failed ? 1 : 0);
