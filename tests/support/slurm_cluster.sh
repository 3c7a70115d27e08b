# Sourced after hosts.sh: a real Slurm on made-up hosts. The controller and the clients' commands run in the head, a slurmd on each host.
#
#     hosts_start n1 n2
#     slurm_start 4 n1 n2               # 4 CPUs a node; returns when all nodes are idle
#     job=$(sbatch --parsable ...)
#     slurm_wait 60 $job COMPLETED      # fails when the time is up, or the job has ended otherwise
#
# Each node has two GPUs by name alone (gpu:toy, files that only look like devices), for the map of tasks to GPUs. Partitions: all; low, whose jobs one
# in `urgent` puts back into the queue.
#
# There is no accounting database: states come from the controller, which keeps finished jobs for the life of the cluster.

slurm_can_start() {
    local program
    for program in munged slurmctld slurmd sbatch srun scontrol; do
        command -v $program >/dev/null || hosts_skip "no program $program (Debian packages slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge)"
    done
}

slurm_write_conf() { # CPUS NODES...
    local cpus=$1 name
    shift
    cat <<END
ClusterName=fretsaw
SlurmctldHost=head(10.64.0.254)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge.socket
CredType=cred/munge
StateSaveLocation=$slurm/state
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd-%n.pid
SlurmdSpoolDir=$slurm/spool-%n
TmpFS=$slurm/tmp-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,bf_interval=2
MailProg=/bin/true
ReturnToService=2
KillWait=3
SlurmdTimeout=300
MessageTimeout=10
GresTypes=gpu
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
MinJobAge=86400
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PreemptMode=OFF
PartitionName=low Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE GraceTime=60
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9 PreemptMode=OFF
END
    for name in "$@"; do
        echo "NodeName=$name CPUs=$cpus Sockets=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=1000 Gres=gpu:toy:2 State=UNKNOWN"
    done
}

slurm_idle() { # NUMBER
    [ "$(timeout 5 sinfo --noheader --Node --states=idle --format=%N 2>/dev/null | sort -u | wc -l)" = "$1" ]
}

slurm_start() { # CPUS NODES...
    local name number cpus=$1
    slurm=$scratch/slurm
    shift
    mkdir -p "$slurm/state"
    chmod 755 "$slurm"
    (umask 077 && head -c 128 /dev/urandom >"$slurm/munge.key")
    echo "CgroupPlugin=cgroup/v1" >"$slurm/cgroup.conf"
    for number in 0 1; do mknod "$slurm/nvidia$number" c 1 3; done
    echo "Name=gpu Type=toy File=$slurm/nvidia[0-1]" >"$slurm/gres.conf"
    slurm_write_conf "$cpus" "$@" >"$slurm/slurm.conf"
    export SLURM_CONF=$slurm/slurm.conf
    munged --foreground --key-file="$slurm/munge.key" --socket="$slurm/munge.socket" --pid-file="$slurm/munged.pid" \
        --seed-file="$slurm/munge.seed" --log-file="$slurm/munged.log" >"$slurm/munged.out" 2>&1 &
    hosts_wait_for 20 "munged" test -S "$slurm/munge.socket" || return 1
    slurmctld -D >"$slurm/slurmctld.log" 2>&1 &
    for name in "$@"; do slurm_start_node "$name"; done
    hosts_wait_for 60 "idle nodes" slurm_idle $# || { tail -n 20 "$slurm"/*.log >&2; return 1; }
}

slurm_start_node() { # NAME
    # A host that comes back begins empty. With an old spool Slurm 22.05 could not start the job's first step again, whose PMIx socket lies there.
    rm -rf "$slurm/tmp-$1" "$slurm/spool-$1"
    mkdir -p "$slurm/spool-$1" "$slurm/tmp-$1" # PMIx has its meeting place in TmpFS: one for each host
    host_run "$1" slurmd -D -N "$1" >>"$slurm/slurmd-$1.log" 2>&1 &
}

# Nodes that do not answer are given up after seconds instead of minutes; not from the start, since a busy machine may be silent for a while.
slurm_be_impatient() {
    sed -i 's/^SlurmdTimeout=.*/SlurmdTimeout=8/; s/^MessageTimeout=.*/MessageTimeout=6/' "$slurm/slurm.conf"
    scontrol reconfigure
}

slurm_state() { # JOB, of an array the states of its tasks, each once; the controller is asked again when it has no time to answer
    local state= tries
    for tries in 1 2 3 4 5; do
        state=$(timeout 20 scontrol --oneliner show job "$1" | sed -n 's/.* JobState=\([A-Z_]*\).*/\1/p' | sort -u)
        [ -z "$state" ] || break
    done
    echo "$state"
}

slurm_wait() { # SECONDS JOB STATE
    local end=$((SECONDS + $1)) state
    while state=$(slurm_state "$2"); [ "$state" != "$3" ]; do
        case $state in
            COMPLETED | FAILED | CANCELLED | TIMEOUT | NODE_FAIL | BOOT_FAIL | OUT_OF_MEMORY)
                echo "wrong: job $2 is $state, not $3" >&2
                return 1
                ;;
        esac
        [ $SECONDS -lt $end ] || { echo "wrong: job $2 is still $state after $1 s, not $3" >&2; squeue >&2; return 1; }
        sleep 0.3
    done
}
