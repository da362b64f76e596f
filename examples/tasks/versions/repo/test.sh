# check NAME EXPECTED COMMAND...: runs a command and prints a line of TAP.
number=0 failed=0
check() {
    local name=$1 expected=$2 printed
    shift 2
    number=$((number + 1))
    printed=$("$@")
    if [ "$printed" = "$expected" ]; then
        echo "ok $number $name"
    else
        echo "not ok $number $name"
        echo "# found $printed, expected $expected"
        failed=1
    fi
}
newest_of() { printf '%s\n' "$@" | bin/newest; }

check "equal" = bin/compare 1.2.3 1.2.3
check "older" "<" bin/compare 1.2.3 1.3
check "newer" ">" bin/compare 2.0 1.9.9
check "a shorter version" = bin/compare 1.2 1.2.0
check "the newest of several" 1.3 newest_of 1.2 1.3 1.1
exit $failed
