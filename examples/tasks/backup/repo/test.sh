# check NAME EXPECTED COMMAND...: runs a command in a new folder and prints a line of TAP.
number=0 failed=0
check() {
    local name=$1 expected=$2 printed folder
    shift 2
    number=$((number + 1))
    folder=$(mktemp -d)
    printed=$("$@" "$folder" 2>&1)
    if [ "$printed" = "$expected" ]; then
        echo "ok $number $name"
    else
        echo "not ok $number $name"
        echo "# found $printed, expected $expected"
        failed=1
    fi
    rm -r "$folder"
}
left() { (cd "$1" && printf '%s;' *); }

newest() { touch "$1"/{1,2,3}.bak && bin/rotate "$1" 2 && left "$1"; }
nothing() { touch "$1"/{1,2}.bak && bin/rotate "$1" 2 && left "$1"; }
other() { touch "$1"/{1,2}.bak "$1"/1.txt && bin/rotate "$1" 1 && left "$1"; }

check "the newest are kept" "2.bak;3.bak;" newest
check "nothing to remove" "1.bak;2.bak;" nothing
check "other files stay" "1.txt;2.bak;" other
exit $failed
