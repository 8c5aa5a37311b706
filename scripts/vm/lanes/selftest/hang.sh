# shellcheck shell=bash
# A good result, then the end never comes.
expect 0 "" true
sleep infinity
