#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# check_unit_includes.pl FILE...: a unit program includes, beside headers of src/base and the kits that stand in tests/unit,
# one header of src or tools: that of the part that it tests, which is in the folder that its own one mirrors, below it or
# above it. What it needs of other parts is a kit's: engine_job.h, mcast_world.h, p2p_world.h, and engine_inside.h and
# mcast_inside.h for what no program could see. Called by scripts/check_style.sh with all files.
use strict;
use warnings;

# What only works together is tested together; each row has its reason. In src/mcast every room works on what an endpoint
# has, so its tests may include a header of mcast/state in place of the room's.
my %together = (
    'tests/unit/engine/collective/unequal_blocks_test.c' => 'unequal_blocks|team|engine', # of a team, of which it takes three fields
    'tests/unit/engine/decide/decide_test.c' => 'decide|tune_table',        # by a table
    'tests/unit/engine/decide/tune_table_test.c' => 'tune_table|tune_built_in',  # its text as it stands
    'tests/unit/shm/shm_measure_test.c' => 'shm_measure|shm_team',     # of a node, into which it looks
    'tests/unit/shm/shm_single_copy_probe_test.c' => 'shm_measure|shm_team', # likewise
    'tests/unit/pmpi/collective/collective_buffers_test.c' => 'bcast_buffers|gather_buffers', # of the calls of equal lengths
    'tests/unit/pmpi/collective/alltoallv_buffers_test.c' => 'alltoallv_buffers|packing', # in which the test plays packing
    'tests/unit/tools/ab/ab_calls_test.c' => 'trace_writer',           # of what it writes
    'tests/unit/offload/attach_window_test.c' => 'attach_window|stage_window',     # the contract on both, and one in place of the other
    'tests/unit/offload/rank/rank_copies_test.c' => 'rank_copies|segment_memory',  # into a segment
    'tests/unit/offload/copy_window_test.c' => 'copy_window|segment_memory',       # likewise
    'tests/unit/offload/proxy/proxy_bounds_test.c' => 'offload_pattern|offload_record', # likewise: what comes in
    'tests/unit/offload/proxy/proxy_teams_test.c' => 'offload_pattern|offload_record', # what comes in, and what goes out
    'tests/unit/offload/proxy/proxy_process_test.c' => 'proxy_process|rank_connection', # a process, and who talks to it
    'tests/unit/offload/carrier/tcp_proxies_test.c' => 'offload_record|proxy_core',     # proxies over the carrier
);

my $failed = 0;
for my $file (grep { m{^tests/unit/.*_test\.c$} } @ARGV) {
    my ($folder) = $file =~ m{^tests/unit/(?:(.*)/)?[^/]+$};
    my @included;
    open my $in, '<', $file or die "$file: $!";
    while (<$in>) {
        push @included, $1 if m{^\s*#\s*include\s*"([^"]*/[^"]*)"} && $1 !~ m{^base/};
    }
    close $in;
    if (my $may = $together{$file}) {
        @included = grep { !m{/(?:$may)\.h$} } @included;
    }
    if (@included > 1) {
        print "$file: includes headers of several parts: @included\n";
        $failed = 1;
    }
    for my $header (@included) {
        my ($where) = $header =~ m{^(.*)/};
        my $is_state = $where eq 'mcast/state' && "$folder/" =~ m{^mcast/};
        next if $is_state || index("$folder/", "$where/") == 0 || index("$where/", "$folder/") == 0;
        print "$file: includes \"$header\", which is not of $folder\n";
        $failed = 1;
    }
}
exit $failed;
