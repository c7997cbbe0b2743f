# How the guest's disk and the node image are made, for guest. The cache key covers this file.
# shellcheck shell=bash disable=SC2154 # variables of guest

mirror() {
  local found
  found=${VERBENA_MIRROR:-$(apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk '$1 == "Debian" && $2 !~ /security/ { print $2; exit }')}
  echo "${found:-http://deb.debian.org/debian}"
}

packages() { sed '/^#/d' "$1" | paste -sd,; }

debstrap() { # OUT PACKAGES OPTION... ; apt sources on standard input
  local out=$1 include=$2
  shift 2
  TMPDIR=$scratch mmdebstrap --variant=minbase --include="$include" \
    --aptopt='APT::Install-Recommends "false"' --aptopt='Acquire::Retries "3"' \
    --dpkgopt=force-unsafe-io --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-include=/usr/share/doc/*/copyright' \
    --essential-hook='mkdir -p "$1/usr/share/man/man1"' \
    "$@" trixie "$out" -
}

sources() { # SUITE...
  local suite
  for suite; do echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(mirror) $suite main"; done
}

# Left out is what a node never needs and a slow import of the tar would pay for.
make_node_tar() { # OUT
  sources trixie | debstrap "$1" "$(packages "$node_dir/packages.txt")" \
    --dpkgopt='path-exclude=/usr/libexec/gcc/*/lto1' --dpkgopt='path-exclude=/usr/bin/*lto-dump*' \
    --dpkgopt='path-exclude=/usr/lib/*san.*' --dpkgopt='path-exclude=/usr/lib/udev/hwdb.d/*' \
    --dpkgopt='path-exclude=/usr/lib/jvm/*/classes_*.jsa' \
    --customize-hook="copy-in '$node_dir/rxe-node' /usr/local/sbin"
  touch "$1.done"
}

make_disk() { # OUT-FOLDER
  sources trixie trixie-backports | debstrap /dev/null "$(packages "$here/packages.txt")" --format=null \
    --essential-hook="mkdir -p \"\$1/etc/initramfs-tools\"; echo update_initramfs=no >\"\$1/etc/initramfs-tools/update-initramfs.conf\"" \
    --dpkgopt=force-confold \
    --customize-hook="copy-in '$here/init' '$here/initrd-init' /root" \
    --customize-hook="'$here/make-disk' \"\$1\" '$1'"
}

# In the foreground timeout stays in the process group that is taken down as a whole.
import_node() { # FOLDER
  local log=$1/import.log
  timeout --foreground 1200 setpriv --pdeathsig KILL "${qemu[@]}" -serial "file:$log" -append "${append[*]} verbena.import=$node_image" \
    -kernel "$1/vmlinuz" -initrd "$1/initrd" \
    -drive "file=$1/disk.raw,format=raw,if=virtio,cache=unsafe,discard=unmap" \
    -drive "file=$node_tar,format=raw,if=virtio,readonly=on" -nic none ||
    true
  grep -q "guest: imported $node_image" "$log" || { tail -n 40 "$log"; return 1; }
}
