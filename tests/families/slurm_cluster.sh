# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# The cluster of slurm_inside.sh: munge and slurmctld on h0, a slurmd on each host of the laboratory. All that they
# read and write is in the laboratory's own folder, and they are processes of its own, so that its end is theirs.
# Every host says that it has eight processors, however many there are.

state=$shared/slurm
export SLURM_CONF=$state/slurm.conf

# Names that Debian gives them beside another package's; where they are installed, the plain ones lead there.
daemon() { # slurmd|slurmctld|slurmstepd
    local name
    for name in "$1-wlm" "$1"; do
        command -v "$name" && return
    done
}

write_configuration() {
    local host i=0
    cat >"$SLURM_CONF" <<END
ClusterName=castoff
SlurmctldHost=h0(10.77.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$state/munge/socket
CredType=cred/munge
PluginDir=$plugins
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
TmpFS=$TMPDIR
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
KillWait=3
KillOnBadExit=1
StateSaveLocation=$state/controller
SlurmctldPidFile=$state/slurmctld.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdPidFile=$state/slurmd-%n.pid
SlurmdLogFile=$state/slurmd-%n.log
SlurmdSpoolDir=$state/spool-%n
PartitionName=all Nodes=ALL Default=YES State=UP
END
    for host in $hosts; do
        i=$((i + 1))
        echo "NodeName=$host NodeAddr=10.77.0.$i CPUs=8 RealMemory=1000 State=UNKNOWN" >>"$SLURM_CONF"
    done
}

# Why it does not come up, for people.
last_words() {
    local log
    for log in "$state"/*.log "$state"/*.out; do
        [ ! -s "$log" ] || tail -n 4 "$log" | sed "s|^|    ${log##*/}: |" | cut -c 1-200
    done
}

nodes_are_idle() {
    [ "$(sinfo -h -N -o %T 2>/dev/null | grep -c '^idle$')" -eq "$(wc -w <<<"$hosts")" ]
}

raise_cluster() {
    local host
    mkdir -p "$state/munge" "$state/controller" && chmod 755 "$state" "$state/munge" || return
    mungekey --create --keyfile="$state/munge/key" || return
    write_configuration
    # On a file system that all may write to munged warns, and goes on when it is told to.
    munged --foreground --force --key-file="$state/munge/key" --socket="$state/munge/socket" \
        --pid-file="$state/munge/pid" --seed-file="$state/munge/seed" --log-file="$state/munge.log" \
        >"$state/munged.out" 2>&1 &
    await 100 test -S "$state/munge/socket" || return
    "$(daemon slurmctld)" -D -c >"$state/slurmctld.out" 2>&1 &
    for host in $hosts; do
        lab-in-host "$host" "$(daemon slurmd)" -D -N "$host" -d "$(daemon slurmstepd)" \
            >"$state/slurmd-$host.out" 2>&1 &
    done
    await 100 nodes_are_idle
}
