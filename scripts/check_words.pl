#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# check_words.pl <code: words of castoff's own for which the field has one may not stand in an identifier again. Reads what
# scripts/code_only.pl prints. A line of the table below is a folder, words that parts of an identifier between underscores
# may not be, and the word to take. Names of user settings stay (CO_SET_, CASTOFF_), and so do whole words that are listed.
use strict;
use warnings;

my @rules = (
    ['src/(p2p|matching|pmpi/p2p)/', 'carriers?|carr(y|ies|ied)', 'native channel, remote channel, transfer'],
    ['src/p2p/', 'frames?', 'packet'],
    ['src/p2p/', 'body|bodies', 'transfer, payload'],
    ['src/p2p/', 'offers?|offered', 'rts, read_offer'],
    ['src/p2p/', 'clear|ask|asks|asked', 'cts'],
    ['src/p2p/', 'keeps?|kept', 'buffered copy, store'],
    ['src/p2p/', 'early', 'first fragment'],
    ['src/(p2p|matching)/', 'blocks?', 'batch'],
    ['src/p2p/', 'far|(?<!under_)ways?', 'remote, route'],
    ['src/p2p/', 'links|doors?|invitations?|invites?', 'rc, connection request'],
    ['src/p2p/', 'lend|lent', 'exported region'],
    ['src/engine/progress/', 'bells?', 'wake_fds'],
    ['src/engine/', 'placed', 'onesided'],
    ['src/pmpi/', 'layers?|placeholders?|presence', 'process, request_handle, pmix'],
    ['src/(engine|p2p)/', 'places?_of_rank|peer_of_place', 'local rank'],
    ['src/(transport|mcast|engine)/', 'signs?', 'liveness'],
    ['src/transport/verbs/', 'links|words?', 'rc, rc_datagram'],
    ['src/mcast/', '(?<!round_)trips?|doubled|nudged?', 'rtt, backoff, ack_request'],
    ['src/(mcast|base/counters)', '(?<!atomic_)fetch|parked', 'nack, retransmit, deferred'],
    ['src/(engine|base/counters)', 'count(er)?_placed(?!_bytes)', 'onesided'],
    ['tests/unit/p2p/', 'carriers?|bod(y|ies)|frames?|links', 'native channel, payload, packet, rc'],
);
my %stays = map { $_ => 1 } qw(co_rc_packet_read_offer co_rc_read_offer CO_RC_PACKET_READ_OFFER CO_RC_TO_OFFER CO_VERBS_WORDS_SENT read_offer_receive
    transfer_send_read_offer);

my $failed = 0;
while (<STDIN>) {
    my ($file, $line, $code) = /^([^:]+):(\d+): (.*)$/ or next;
    next if $code =~ /^\s*#\s*include/;
    for my $rule (@rules) {
        my ($folder, $words, $instead) = @$rule;
        next if $file !~ m{^$folder};
        for my $name ($code =~ /\b[A-Za-z_]\w*/g) {
            next if $stays{$name} || $name =~ /^(CO_SET_|CASTOFF_)/ || $name !~ /(^|_)($words)(_|$)/i;
            print "$file:$line: $name: not '$2' but $instead\n";
            $failed = 1;
        }
    }
}
exit $failed;
