# shellcheck shell=bash
# Two bad results and a good one.
expect 0 "" false
expect 0 "^yes$" echo no
expect 0 "" true
