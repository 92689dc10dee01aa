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

# Longest folder first: the first that fits decides.
allowed() {
    if [[ $1 =~ ^src/mcast/($in_state)\.h$ ]]; then
        echo "base/.*|mcast/(wire/.*|($in_state)\.h)|$below_mcast"
        return
    fi
    case $1 in
    src/base/*) echo 'base/.*' ;;
    src/modules/*) echo 'base/.*|modules/.*' ;;
    src/transport/*) echo 'base/.*|transport/.*' ;;
    src/onesided/*) echo 'base/.*|onesided/.*' ;;
    src/offload/proxy/*) echo 'base/.*|offload/([a-z_]+|carrier/tcp_carrier|proxy/.*)\.h' ;;
    src/offload/carrier/*) echo 'base/.*|offload/([a-z_]+|carrier/.*)\.h' ;;
    src/offload/rank/*) echo 'base/.*|offload/([a-z_]+|rank/.*)\.h' ;;
    src/offload/collective/*) echo 'base/.*|offload/([a-z_]+|(api|rank|collective)/.*)\.h' ;;
    src/offload/api/*) echo 'base/.*|offload/([a-z_]+|(api|rank)/.*)\.h|castoff_offload(_paper)?\.h' ;;
    src/offload/*) echo 'base/.*|offload/[a-z_]+\.h' ;;
    src/shm/*) echo 'base/.*|shm/.*' ;;
    src/mcast/wire/datagram_trace.*) echo "base/.*|mcast/(state/endpoint\.h|wire/.*)|$below_mcast" ;;
    src/mcast/wire/*) echo "base/.*|mcast/wire/.*|$below_mcast" ;;
    src/mcast/state/*) echo "base/.*|mcast/(mcast\.h|state/.*|wire/.*|($in_state)\.h)|$below_mcast" ;;
    src/mcast/send/*) echo "base/.*|mcast/($room|send/.*)|$below_mcast" ;;
    src/mcast/receive/*) echo "base/.*|mcast/($room|receive/.*|send/allgather_schedule\.h)|$below_mcast" ;;
    src/mcast/ack/*) echo "base/.*|mcast/($room|ack/.*|send/control_send\.h)|$below_mcast" ;;
    src/mcast/liveness/*) echo "base/.*|mcast/($room|liveness/.*|send/control_send\.h)|$below_mcast" ;;
    src/mcast/repair/*) echo "base/.*|mcast/($room|repair/.*|receive/receive_block\.h|send/(control_send|transmit)\.h)|$below_mcast" ;;
    src/mcast/*) echo 'base/.*|mcast/.*|transport/[a-z_]+\.h' ;;
    src/matching/*) echo 'base/.*|matching/.*' ;;
    src/p2p/channel/rc/*) echo 'base/.*|p2p/channel/.*|transport/verbs/verbs_queue_pair_states\.h' ;;
    src/p2p/channel/*) echo 'base/.*|p2p/channel/.*' ;;
    src/p2p/*) echo "base/.*|p2p/([a-z0-9_]+|channel/channel|channel/packet|channel/packet_describe)\.h|$fronts_matching" ;;
    src/engine/decide/adapt* | src/engine/decide/meeting_classes* | src/engine/decide/decide* | src/engine/decide/tune*) echo 'base/.*|engine/decide/.*' ;;
    src/engine/*) echo "base/.*|engine/.*|p2p/p2p_open\.h|p2p/channel/(native|rc|ring)_channel\.h|$fronts_p2p|$fronts_mcast|$fronts_group|$fronts_proxied" ;;
    src/mpi_below/*) echo 'base/.*|mpi_below/.*' ;;
    src/record/trace/*) echo 'base/.*|record/trace/.*' ;;
    src/record/*) echo 'base/.*|mpi_below/.*|record/.*' ;;
    src/pmpi/*) echo "base/.*|pmpi/.*|mpi_below/.*|$fronts_engine|$fronts_mcast|$fronts_proxied" ;;
    src/*) echo 'base/.*' ;;
    tools/launch/* | tools/output/*) echo "$tools_all" ;;
    tools/trace/read/*) echo 'base/.*|record/trace/.*|tools/trace/read/.*' ;;
    tools/trace/events/*) echo 'base/.*|record/trace/.*|tools/trace/(read|events)/.*' ;;
    tools/trace/replay/*) echo "base/.*|tools/trace/(read|events|replay)/.*|matching/match_steps\.h|$fronts_matching" ;;
    tools/trace/analyze/*) echo 'base/.*|tools/trace/(events|replay|analyze)/.*' ;;
    tools/trace/*) echo "$tools_all|record/trace/[a-z_]+\.h|tools/trace/(analyze|read)/[a-z_]+\.h" ;;
    tools/ab/*) echo "$tools_all|record/trace/[a-z_]+\.h" ;;
    tools/onesided/*) echo "$tools_all|onesided/([a-z_]+|group/castoff_group)\.h|$fronts_engine" ;;
    tools/proxy/*) echo "$tools_all|offload/([a-z_]+|carrier/tcp_carrier|proxy/[a-z_]+)\.h" ;;
    tools/volley/*) echo 'base/.*|volley[a-z_]*\.h' ;;
    tools/info/*) echo "$tools_all|tools/volley/volley_(host|plan)\.h|offload/api/castoff_offload\.h|tools/onesided/onesided_library_find\.h|$fronts_proxied|$fronts_engine|$fronts_mcast" ;;
    tools/*) echo "$tools_all|$fronts_engine|$fronts_mcast" ;;
    *) echo '.*' ;;
    esac
}

status=0
only_above() {
    if grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]mpi\.h' "$1" | sed "s|^|$1:|" | grep .; then
        echo "  only src/pmpi knows MPI, and src/mpi_below and src/record"
        status=1
    fi
}

only_there() {
    if grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*\"($2)\.h\"" "$1" | sed "s|^|$1:|" | grep .; then
        echo "  what an endpoint has is the affair of tests/unit/mcast/receive and mcast_inside.c, what an engine has that of"
        echo "  engine_inside.c; other tests ask mcast_inside.h and engine_inside.h"
        status=1
    fi
}

for file in "$@"; do
    rule=$(allowed "$file")
    while IFS=: read -r line included; do
        if ! grep -qxE "$rule" <<<"$included"; then
            echo "$file:$line: must not include \"$included\""
            status=1
        fi
    done < <(sed -n -E 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"([^"]*)".*/\1/;t out;b;:out;=;p' "$file" |
        paste -d: - -)
    case $file in
    src/record/trace/*) only_above "$file" ;;
    src/pmpi/* | src/mpi_below/* | src/record/*) ;;
    src/* | tests/unit/* | tests/fuzz/*) only_above "$file" ;;
    esac
    case $file in
    tests/unit/mcast/mcast_inside.c | tests/unit/mcast/receive/*) only_there "$file" 'engine/engine_state' ;;
    tests/unit/engine/engine_inside.c) only_there "$file" 'mcast/state/endpoint' ;;
    tests/unit/*) only_there "$file" 'mcast/state/endpoint|engine/engine_state' ;;
    esac
done
exit "$status"
