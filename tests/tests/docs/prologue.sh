# What stands before the blocks of a page when it is run. $SEEN is a directory for what its blocks print.
set -euo pipefail

# Says which block is at work, for whoever reads that it failed.
at() {
  echo "$1" >"$SEEN/at"
}

# Runs a block as somebody would in one more shell: in the same directory, and knowing nothing of this one.
in_another_shell() {
  env -i HOME="$HOME" PATH="$PATH_AT_FIRST" MUSTER_SERVER="$ADDRESS" MUSTER_SERVER__LISTEN="${ADDRESS#http://}" \
    bash -euo pipefail "$SEEN/$1.sh" >"$SEEN/$1" 2>&1 &
}

# Waits until a block that goes on has printed what the page says one sees.
until_seen() {
  local tries=0
  until grep -qE -- "$2" "$SEEN/$1"; do
    ((++tries < 1200)) || { echo "never seen: $2"; exit 1; }
    sleep 0.05
  done
}
