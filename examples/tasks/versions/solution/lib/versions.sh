# Functions about versions such as 1.2.3.

# part VERSION NUMBER: one part of a version, counted from 1; 0 if it has fewer.
part() {
    local found
    found=$(printf '%s.' "$1" | cut -d. -f"$2")
    printf '%s\n' "${found:-0}"
}

# compared A B: prints <, = or >.
compared() {
    local number left right
    for number in 1 2 3 4; do
        left=$(part "$1" "$number")
        right=$(part "$2" "$number")
        if ((10#$left < 10#$right)); then
            echo '<'
            return
        elif ((10#$left > 10#$right)); then
            echo '>'
            return
        fi
    done
    echo '='
}
