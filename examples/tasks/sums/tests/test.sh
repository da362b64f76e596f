# check NAME EXPECTED LINES...: summarizes a book of these lines and prints a line of TAP.
number=0 failed=0
check() {
    local name=$1 expected=$2 printed
    shift 2
    number=$((number + 1))
    printed=$(printf '%s\n' "$@" | awk -f summary.awk)
    if [ "$printed" = "$expected" ]; then
        echo "ok $number $name"
    else
        echo "not ok $number $name"
        echo "# found $printed, expected $expected"
        failed=1
    fi
}

check "one account" "food 30 20 15.00" "food 10" "food 20"
check "two accounts" $'food 10 10 10.00\ntravel 7 8 3.50' "food 10" "travel 8" "travel -1"
check "an empty book" "" ""
check "refunds only" "travel -25 -5 -12.50" "travel -20" "travel -5"
check "a mean below zero" "food -3.02 -1 -1.01" "food -1" "food -1.01" "food -1.01"
exit $failed
