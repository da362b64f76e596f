# Prints the sum, the largest booking and the mean of each account, in the order in which the accounts come up.

function rounded(value) {
    # Half a cent is rounded away from zero.
    return int(value * 100 + (value < 0 ? -0.5 : 0.5)) / 100
}

NF == 2 {
    if (!($1 in sum)) {
        order[++accounts] = $1
    }
    sum[$1] += $2
    count[$1]++
    if (count[$1] == 1 || $2 + 0 > largest[$1]) {
        largest[$1] = $2 + 0
    }
}

END {
    for (number = 1; number <= accounts; number++) {
        name = order[number]
        printf "%s %s %s %.2f\n", name, sum[name], largest[name], rounded(sum[name] / count[name])
    }
}
