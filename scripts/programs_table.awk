# SPDX-License-Identifier: BSD-3-Clause
#
# The table of real programs for README.md, out of bench/runs.tsv: of each program and number of hosts, or one node, the
# last run kept (figure M48:PROGRAM:HOSTS), and when the runs of a row were. Called by scripts/readme.sh.
BEGIN {
    FS = "\t"
    count = split("hpcc qe mumps pickled sharded lammps", programs, " ")
    name["hpcc"] = "HPCC"
    name["qe"] = "Quantum ESPRESSO"
    name["mumps"] = "MUMPS"
    name["pickled"] = "mpi4py, `bcast` of pickled 16 to 64 MB"
    name["sharded"] = "mpi4py, sharded training"
    name["lammps"] = "LAMMPS"
}

function note_place(what) {
    first = first == "" || date[what] < first ? date[what] : first
    last = date[what] > last ? date[what] : last
    if (!((machine[what], commit[what]) in seen)) {
        seen[machine[what], commit[what]] = 1
        if (!(machine[what] in commits)) {
            machines[++machine_count] = machine[what]
        }
        commits[machine[what]] = commits[machine[what]] commit[what] ", "
    }
}

# "7.04, 3.40 s: 0.548 (0.350 to 0.936)"
function cell(program, hosts,    part, what) {
    what = program ":" hosts
    if (!(what in value)) {
        return "-"
    }
    note_place(what)
    if (verdict[what] == "failed") {
        return "failed"
    }
    split(value[what], part, "; ")
    calls = part[4]
    gsub(/MPI_/, "", calls)
    sub(/ s$/, "", part[1])
    return part[1] ", " part[2] ": " part[3]
}

$4 ~ /^M48:/ {
    what = substr($4, 5)
    verdict[what] = $5
    value[what] = $6
    date[what] = $1
    commit[what] = $2
    machine[what] = $3
}

# "2026-11-24 to 26"
function days(first, last) {
    return first == last ? first : first " to " (substr(first, 1, 8) == substr(last, 1, 8) ? substr(last, 9) : last)
}

END {
    print "| without, with castoff: ratio (95 %) | one node | 4 hosts | 8 hosts | calls taken of a rank (gained) | measured |"
    print "| --- | --- | --- | --- | --- | --- |"
    for (i = 1; i <= count; i++) {
        calls = "-"
        first = last = ""
        node = cell(programs[i], "node")
        four = cell(programs[i], 4)
        eight = cell(programs[i], 8)
        if (first != "") { # one of them was measured
            printf "| %s | %s | %s | %s | %s | %s |\n", name[programs[i]], node, four, eight, calls, days(first, last)
        }
    }
    for (i = 1; i <= machine_count; i++) {
        all = all (i == 1 ? "" : "; ") commits[machines[i]] machines[i]
    }
    printf "\nMedians of runs in turn and of pairs' ratios, with interval. Goal: none above 1.02 (M48). "
    gsub(/\(R\)/, "", all)
    printf "Hosts: laboratory, 1 Gbit/s. `make bench-real` (%s).\n", all
}
