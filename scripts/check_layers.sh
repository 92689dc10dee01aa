#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Who may include whom: src/pmpi -> src/engine -> src/mcast, src/shm, src/p2p -> src/transport -> src/base, downwards only, and
# from another folder only the front headers of a module. Only src/pmpi, src/mpi_below and src/record know mpi.h. One line of `allowed` is one
# rule: a folder, and what its files may include by name. Called by scripts/check_style.sh in the top folder.
set -u

fronts_group='onesided/group/castoff_group\.h'
fronts_transport='transport/([a-z_]+|udp/udp|loopback/loopback|fault/lossy)\.h'
fronts_mcast="mcast/mcast\.h|shm/shm\.h|$fronts_transport"
below_mcast='transport/[a-z_]+\.h'
# What all rooms of the protocol know: what an endpoint has, and what a datagram looks like. Who calls the rooms stands above
# them, in src/mcast itself. What an endpoint has is put together of headers that know nothing of it.
room='mcast\.h|state/.*|wire/.*'
in_state='ack/(ack_list|credit_tree|rtt)|liveness/refusals|receive/(datapath|receive_block|receive_lane|replay_window)'
in_state="$in_state|repair/(repair|repair_window)|send/(allgather_schedule|flow_control|path_queue|send_rate|send_turns|transmit|usual_time|way_trials)"
fronts_matching='matching/matcher\.h|matching/match_key\.h|matching/match_lane\.h'
fronts_proxied='offload/collective/proxied_collective\.h'
fronts_p2p='p2p/p2p\.h|p2p/channel/native\.h'
fronts_engine="engine/engine\.h|engine/decide/(meetings|decide|tune_table)\.h|engine/collective/onesided_library\.h|$fronts_p2p"
# A command, of its own folder; what starts programs; what results are put into.
tools_all='base/.*|[a-z_]+\.h|tools/(launch|output)/[a-z_]+\.h'

# Sets rule for a file. Longest folder first: the first that fits decides.
allow() {
    if [[ $1 =~ ^src/mcast/($in_state)\.h$ ]]; then
        rule="base/.*|mcast/(wire/.*|($in_state)\.h)|$below_mcast"
        return
    fi
    case $1 in
    src/base/*) rule='base/.*' ;;
    src/modules/*) rule='base/.*|modules/.*' ;;
    src/transport/*) rule='base/.*|transport/.*' ;;
    src/onesided/*) rule='base/.*|onesided/.*' ;;
    src/offload/proxy/*) rule='base/.*|offload/([a-z_]+|carrier/tcp_carrier|proxy/.*)\.h' ;;
    src/offload/carrier/*) rule='base/.*|offload/([a-z_]+|carrier/.*)\.h' ;;
    src/offload/rank/*) rule='base/.*|offload/([a-z_]+|rank/.*)\.h' ;;
    src/offload/collective/*) rule='base/.*|offload/([a-z_]+|(api|rank|collective)/.*)\.h' ;;
    src/offload/api/*) rule='base/.*|offload/([a-z_]+|(api|rank)/.*)\.h|castoff_offload(_paper)?\.h' ;;
    src/offload/*) rule='base/.*|offload/[a-z_]+\.h' ;;
    src/shm/*) rule='base/.*|shm/.*' ;;
    src/mcast/wire/datagram_trace.*) rule="base/.*|mcast/(state/endpoint\.h|wire/.*)|$below_mcast" ;;
    src/mcast/wire/*) rule="base/.*|mcast/wire/.*|$below_mcast" ;;
    src/mcast/state/*) rule="base/.*|mcast/(mcast\.h|state/.*|wire/.*|($in_state)\.h)|$below_mcast" ;;
    src/mcast/send/*) rule="base/.*|mcast/($room|send/.*)|$below_mcast" ;;
    src/mcast/receive/*) rule="base/.*|mcast/($room|receive/.*|send/allgather_schedule\.h)|$below_mcast" ;;
    src/mcast/ack/*) rule="base/.*|mcast/($room|ack/.*|send/control_send\.h)|$below_mcast" ;;
    src/mcast/liveness/*) rule="base/.*|mcast/($room|liveness/.*|send/control_send\.h)|$below_mcast" ;;
    src/mcast/repair/*) rule="base/.*|mcast/($room|repair/.*|receive/receive_block\.h|send/(control_send|transmit)\.h)|$below_mcast" ;;
    src/mcast/*) rule='base/.*|mcast/.*|transport/[a-z_]+\.h' ;;
    src/matching/*) rule='base/.*|matching/.*' ;;
    src/p2p/channel/rc/*) rule='base/.*|p2p/channel/.*|transport/verbs/verbs_queue_pair_states\.h' ;;
    src/p2p/channel/*) rule='base/.*|p2p/channel/.*' ;;
    src/p2p/*) rule="base/.*|p2p/([a-z0-9_]+|channel/channel|channel/packet|channel/packet_describe)\.h|$fronts_matching" ;;
    src/engine/decide/adapt* | src/engine/decide/meeting_classes* | src/engine/decide/decide* | src/engine/decide/tune*) rule='base/.*|engine/decide/.*' ;;
    src/engine/*) rule="base/.*|engine/.*|p2p/p2p_open\.h|p2p/channel/(native|rc|ring)_channel\.h|$fronts_p2p|$fronts_mcast|$fronts_group|$fronts_proxied" ;;
    src/mpi_below/*) rule='base/.*|mpi_below/.*' ;;
    src/record/trace/*) rule='base/.*|record/trace/.*' ;;
    src/record/*) rule='base/.*|mpi_below/.*|record/.*' ;;
    src/pmpi/*) rule="base/.*|pmpi/.*|mpi_below/.*|$fronts_engine|$fronts_mcast|$fronts_proxied" ;;
    src/*) rule='base/.*' ;;
    tools/launch/* | tools/output/*) rule="$tools_all" ;;
    tools/trace/read/*) rule='base/.*|record/trace/.*|tools/trace/read/.*' ;;
    tools/trace/events/*) rule='base/.*|record/trace/.*|tools/trace/(read|events)/.*' ;;
    tools/trace/replay/*) rule="base/.*|tools/trace/(read|events|replay)/.*|matching/match_steps\.h|$fronts_matching" ;;
    tools/trace/analyze/*) rule='base/.*|tools/trace/(events|replay|analyze)/.*' ;;
    tools/trace/*) rule="$tools_all|record/trace/[a-z_]+\.h|tools/trace/(analyze|read)/[a-z_]+\.h" ;;
    tools/ab/*) rule="$tools_all|record/trace/[a-z_]+\.h" ;;
    tools/onesided/*) rule="$tools_all|onesided/([a-z_]+|group/castoff_group)\.h|$fronts_engine" ;;
    tools/proxy/*) rule="$tools_all|offload/([a-z_]+|carrier/tcp_carrier|proxy/[a-z_]+)\.h" ;;
    tools/volley/*) rule='base/.*|volley[a-z_]*\.h' ;;
    tools/info/*) rule="$tools_all|tools/volley/volley_(host|plan)\.h|offload/api/castoff_offload\.h|tools/onesided/onesided_library_find\.h|$fronts_proxied|$fronts_engine|$fronts_mcast" ;;
    tools/*) rule="$tools_all|$fronts_engine|$fronts_mcast" ;;
    *) rule='.*' ;;
    esac
}

status=0
complain() { # what...
    printf '%s\n' "$@"
    status=1
}

# Whether a file may know mpi.h.
may_know_mpi() {
    case $1 in
    src/record/trace/*) return 1 ;;
    src/pmpi/* | src/mpi_below/* | src/record/*) return 0 ;;
    src/* | tests/unit/* | tests/fuzz/*) return 1 ;;
    esac
}

# Sets inside to the headers of insides that a file may not include; nothing: any.
close_insides() {
    case $1 in
    tests/unit/mcast/mcast_inside.c | tests/unit/mcast/receive/*) inside='engine/engine_state' ;;
    tests/unit/engine/engine_inside.c) inside='mcast/state/endpoint' ;;
    tests/unit/*) inside='mcast/state/endpoint|engine/engine_state' ;;
    *) inside='' ;;
    esac
}

# One process for all files: there are a thousand of them, with ten includes each.
last=""
while IFS=: read -r file line text; do
    if [[ $file != "$last" ]]; then
        last=$file
        allow "$file"
        close_insides "$file"
    fi
    [[ $text =~ include[[:space:]]*([\"<])([^\">]*) ]] || continue
    kind=${BASH_REMATCH[1]} included=${BASH_REMATCH[2]}
    if [[ $kind == '"' && ! $included =~ ^($rule)$ ]]; then
        complain "$file:$line: must not include \"$included\""
    fi
    if [[ $included == mpi.h ]] && ! may_know_mpi "$file"; then
        complain "$file:$line:$text" "  only src/pmpi knows MPI, and src/mpi_below and src/record"
    fi
    if [[ $kind == '"' && -n $inside && $included =~ ^($inside)\.h$ ]]; then
        complain "$file:$line:$text" \
            "  what an endpoint has is the affair of tests/unit/mcast/receive and mcast_inside.c, what an engine has that of" \
            "  engine_inside.c; other tests ask mcast_inside.h and engine_inside.h"
    fi
done < <(grep -HnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' "$@")
exit "$status"
