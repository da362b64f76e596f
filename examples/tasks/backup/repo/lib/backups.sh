# Functions about folders with backups.

# backups DIR: the backups in a folder, oldest first, one to a line.
backups() {
    find "$1" -maxdepth 1 -type f -name '*.bak' | LC_ALL=C sort
}

# surplus DIR COUNT: the backups that are to be removed.
surplus() {
    backups "$1" | head -n -"$2"
}
