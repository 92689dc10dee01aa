#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Runs inside the laboratory, on h0: sends one file to all other hosts with one rival at one setting, and prints
#   rival setting bytes seconds ok|WRONG
# where the seconds are from the start of the sender, receivers waiting, until every receiver has the file and the
# sender has ended. Started by rivals.sh.
#   inside.sh RIVAL SETTING FILE NORM-PROGRAM      setting: a rate in kbit/s, or max (udpcast, uftp)
set -u
rival=$1 setting=$2 file=$3 norm=$4
read -r -a hosts <<<"$CASTOFF_LAB_HOSTS"
folder=$CASTOFF_LAB_SHARED
receivers=$((${#hosts[@]} - 1))
pids=()
cleanup() {
    local pid
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
    done
    wait
    rm -rf "$folder"/out-*
}
trap cleanup EXIT

receive() { # host number: starts its receiver
    local out=$folder/out-$1
    mkdir -p "$out"
    case $rival in
        udpcast) lab-in-host "$1" udp-receiver --interface eth0 --nokbd --no-progress --mcast-rdv-address 239.193.4.4 --file "$out/data" >"$out/log" 2>&1 & ;;
        uftp) lab-in-host "$1" uftpd -d -B 4194304 -I eth0 -D "$out" -P "$out/pid" >"$out/log" 2>&1 & ;;
        norm) lab-in-host "$1" "$norm" recv "$out/data" $(($1 + 1)) eth0 >"$out/log" 2>&1 & ;;
    esac
    pids+=($!)
}

transmit() {
    local options=()
    case $rival in
        udpcast)
            [[ $setting == max ]] || options=(--max-bitrate "${setting}k")
            udp-sender --interface eth0 --nokbd --no-progress --min-receivers "$receivers" --full-duplex --mcast-rdv-address 239.193.4.4 \
                --retries-until-drop 1000 --file "$file" "${options[@]}" ;;
        uftp)
            local rate=$setting
            [[ $setting != max ]] || rate=-1
            uftp -I eth0 -B 4194304 -b 1400 -R "$rate" -s 10 -r 0.01:0.005:0.1 "$file" ;;
        norm)
            "$norm" send "$file" eth0 "${setting}000" "$receivers" ;;
    esac
}

arrived() { # host number: does it have the whole file?
    local out=$folder/out-$1/data
    [[ $rival != uftp ]] || out=$folder/out-$1/${file##*/}
    [[ -e $out && $(stat -c %s "$out") -eq $bytes ]]
}

everyone_has_it() {
    local i
    for ((i = 1; i <= receivers; i++)); do
        arrived "$i" || return 1
    done
}

bytes=$(stat -c %s "$file")
for ((i = 1; i <= receivers; i++)); do
    receive "$i"
done
# Each has joined its group when its host says so.
for ((i = 1; i <= receivers; i++)); do
    for ((turn = 0; turn < 100; turn++)); do
        [[ $(lab-in-host "$i" cat /proc/net/igmp | grep -c '^\s*[0-9A-F]\{8\} ') -gt 2 ]] && break
        sleep 0.05
    done
done
start=$(date +%s%N)
timeout 30 bash -c "$(declare -f transmit)
rival=$rival setting=$setting receivers=$receivers norm=$norm file=$file
transmit" >"$folder/out-1/sender" 2>&1 || { tail -n 5 "$folder/out-1/sender" >&2; verdict=WRONG; }
for ((turn = 0; turn < 500; turn++)); do
    everyone_has_it && break
    sleep 0.01
done
end=$(date +%s%N)
verdict=${verdict:-ok}
for ((i = 1; i <= receivers; i++)); do
    out=$folder/out-$i/data
    [[ $rival != uftp ]] || out=$folder/out-$i/${file##*/}
    cmp -s "$file" "$out" || verdict=WRONG
done
awk -v rival="$rival" -v setting="$setting" -v bytes="$bytes" -v ns=$((end - start)) -v verdict=$verdict \
    'BEGIN { printf "%s %s %d %.3f %s\n", rival, setting, bytes, ns / 1e9, verdict }'
