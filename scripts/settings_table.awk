# SPDX-License-Identifier: BSD-3-Clause
#
# env.example as the rows of a Markdown table: setting, default, what it may be, meaning. Settings that must be equal
# on all ranks carry a star. With tier=user only those that are not for experts. Used by scripts/readme.sh.

BEGIN {
    print "| setting | default | values | meaning |"
    print "| --- | --- | --- | --- |"
}

/^$/ { lines = 0; next }

/^#export CASTOFF_/ {
    split(substr($0, 9), parts, "=")
    value = substr($0, length(parts[1]) + 10)
    expert = sub(/ \[expert\]$/, "", range)
    star = sub(/ \[same on all ranks\]$/, "", range) ? " *" : ""
    if (!expert || tier != "user") {
        printf "| `%s`%s | %s | %s | %s%s |\n", parts[1], star, value == "" ? "" : "`" value "`", range, meaning,
            expert ? " *expert*" : ""
    }
    next
}

/^# / {
    text = substr($0, 3)
    gsub(/\|/, "\\|", text)
    if (lines++ == 0) {
        meaning = text
    } else {
        range = text
    }
}
