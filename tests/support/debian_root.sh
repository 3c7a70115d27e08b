# Sourced: plain Debian 12 roots for tests that install something. Needs root, and debootstrap or FRETSAW_DEBIAN_ROOT (a tar of such a root, whose
# one top folder is root/); skips (77) where it cannot be had.
#
#     . tests/support/debian_root.sh
#     debian_enclose "$0" "$@"          # goes on in mounts of its own; $scratch is a folder that vanishes at the end
#     debian_root "$scratch/clean"
#     in_root "$scratch/clean" apt-get install -y hello
#     as_user "$scratch/clean" hello    # an ordinary user, without any of this machine's environment
debian_skip() {
    echo "skipped: $*"
    exit 77
}

debian_enclose() {
    if [ -n "${FRETSAW_ENCLOSED:-}" ]; then
        scratch=$FRETSAW_ENCLOSED
        return
    fi
    [ "$(id -u)" = 0 ] || debian_skip "making a root needs root"
    [ -n "${FRETSAW_DEBIAN_ROOT:-}" ] || command -v debootstrap >/dev/null || debian_skip "no debootstrap"
    unshare --mount --propagation private true 2>/dev/null || debian_skip "this machine does not let root make mount namespaces"
    scratch=$(mktemp -d "${TMPDIR:-/tmp}/fretsaw-debian-XXXXXX")
    chmod 755 "$scratch"
    trap 'rm -rf --one-file-system "$scratch"' EXIT # the mounts are gone with the namespace
    local code=0
    FRETSAW_ENCLOSED=$scratch unshare --mount --propagation private --pid --fork --kill-child "$@" || code=$?
    exit $code
}

debian_root() { # FOLDER
    local root=$1
    mkdir -p "$root"
    if [ -n "${FRETSAW_DEBIAN_ROOT:-}" ]; then
        tar xf "$FRETSAW_DEBIAN_ROOT" -C "$root" --strip-components=1
    else
        debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { tail -n 5 "$root.log"; debian_skip "debootstrap failed: no mirror?"; }
    fi
    # The same mirrors and way to the network as this machine.
    cp -a /etc/apt/. "$root/etc/apt/"
    mkdir -p "$root/usr/share/keyrings" "$root/dev/shm"
    cp -a /usr/share/keyrings/. "$root/usr/share/keyrings/"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys" 2>/dev/null || true # the launcher asks it for cores; it can do without
    mount -t tmpfs -o mode=1777,size=512m shm "$root/dev/shm"
    in_root "$root" useradd --create-home --shell /bin/bash --uid 4242 someone
}

in_root() { # ROOT COMMAND...
    local root=$1
    shift
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive chroot "$root" "$@"
}

as_user() { # ROOT COMMAND...
    local root=$1
    shift
    env -i PATH=/usr/bin:/bin HOME=/home/someone LANG=C.UTF-8 /usr/sbin/chroot --userspec=4242:4242 --groups= "$root" "$@"
}
