# shellcheck shell=bash
# A good result.
expect 0 "^yes$" echo yes
