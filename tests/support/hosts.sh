# Sourced: several hosts made up on this one, for tests that need more than one. Each host has a name, a network card, /dev/shm and process
# numbers of its own; the file system is common, as on a cluster. All of it lives inside one more such enclosure, the head, in which the test
# itself runs as process 1: when the test ends, by whatever way, the kernel ends every process in there and takes the cards away.
#
#     . tests/support/hosts.sh
#     hosts_enclose "$0" "$@"           # skips (77) where that is not allowed; goes on only inside. $scratch is a folder that vanishes at the end
#     hosts_start n1 n2
#     host_run n1 hostname              # prints n1
#     host_crash n1                     # every process there is gone at once, and its card; hosts_start n1 brings an empty one of the same address
#
# Addresses are 10.64.0.1 and so on in the order of starting, the head's is 10.64.0.254; no packet leaves the head.
declare -A host_process=() host_number=()

hosts_skip() {
    echo "skipped: $*"
    exit 77
}

# Runs the script again inside the head and ends with its exit code.
hosts_enclose() {
    if [ -n "${FRETSAW_HEAD:-}" ]; then
        scratch=$FRETSAW_HEAD
        unset FRETSAW_HEAD
        hosts_open_head
        return
    fi
    [ "$(id -u)" = 0 ] || hosts_skip "made-up hosts need root"
    local tool
    for tool in ip unshare nsenter setpriv mpirun; do
        command -v $tool >/dev/null || hosts_skip "no program $tool"
    done
    local apart=(unshare --net --uts --mount --ipc --pid --fork --kill-child --mount-proc)
    "${apart[@]}" ip link add probe type veth 2>/dev/null || hosts_skip "this machine does not let root make network namespaces (ip netns) and veth pairs"
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-hosts-XXXXXX")
    chmod 755 "$scratch"
    FRETSAW_HEAD=$scratch setpriv --pdeathsig KILL "${apart[@]}" "$@" &
    head_process=$!
    # The end of `unshare` is the end of the enclosure, and the end of this shell, even by KILL, is the end of `unshare`.
    trap 'kill -KILL $head_process 2>/dev/null' TERM INT HUP
    trap 'rm -rf "$scratch" || { sleep 1; rm -rf "$scratch"; }' EXIT
    wait $head_process
    exit $?
}

hosts_open_head() {
    hostname head
    { echo "127.0.0.1 localhost"; echo "10.64.0.254 head"; } >"$scratch/hosts"
    mount --bind "$scratch/hosts" /etc/hosts
    ip link set lo up
    ip link add net type bridge
    ip addr add 10.64.0.254/24 dev net
    ip link set net up
    export OMPI_MCA_mpi_yield_when_idle=1 # the hosts have the same few cores: a rank that waits lets the others work
}

hosts_wait_for() { # SECONDS WHAT COMMAND...
    local end=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ $SECONDS -lt $end ] || { echo "wrong: waited in vain for $what" >&2; return 1; }
        sleep 0.1
    done
}

hosts_start() { # NAME...
    local name number
    for name in "$@"; do
        number=${host_number[$name]:-}
        if [ -z "$number" ]; then
            number=$((${#host_number[@]} + 1))
            host_number[$name]=$number
            echo "10.64.0.$number $name" >>"$scratch/hosts"
        fi
        # Its process 1 is a shell, which takes care of orphans.
        unshare --net --uts --mount --ipc --pid --fork --kill-child --mount-proc bash -c '
            hostname "$1" && ip link set lo up && mount -t tmpfs -o mode=1777 host /dev/shm && : >"$2/up-$1" || exit 1
            sleep infinity & wait' host "$name" "$scratch" </dev/null >"$scratch/host-$name.log" 2>&1 &
        host_process[$name]=$!
        hosts_wait_for 20 "host $name" test -e "$scratch/up-$name" || return 1
        ip link add "to-$name" type veth peer name eth0 netns "${host_process[$name]}"
        ip link set "to-$name" master net up
        host_run "$name" ip addr add "10.64.0.$number/24" dev eth0
        host_run "$name" ip link set eth0 up
    done
    hosts_write_agent
}

host_crash() { # NAME
    kill -KILL "${host_process[$1]}"
    wait "${host_process[$1]}" 2>/dev/null || true
    rm -f "$scratch/up-$1"
    ip link del "to-$1" 2>/dev/null || true # the kernel takes the card away with the host, in its own time
}

host_run() { # NAME COMMAND...
    local process=${host_process[$1]}
    shift
    nsenter -t "$process" --net --uts --ipc --mount --pid="/proc/$process/ns/pid_for_children" sh -c 'cd "$0" && exec "$@"' "$PWD" "$@"
}

# What mpirun takes for ssh: AGENT HOST COMMAND.
hosts_write_agent() {
    {
        echo '#!/usr/bin/env bash'
        declare -p host_process
        declare -f host_run
        echo 'while [ "${1#-}" != "$1" ]; do shift; done'
        echo 'name=$1; shift; host_run "$name" sh -c "$*"'
    } >"$scratch/agent"
    chmod 755 "$scratch/agent"
    export OMPI_MCA_plm_rsh_agent=$scratch/agent
}
