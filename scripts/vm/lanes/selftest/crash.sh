# shellcheck shell=bash
# A good result, then the kernel panics.
expect 0 "" true
echo c >/proc/sysrq-trigger
