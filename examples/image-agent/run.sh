#!/bin/sh
# run.sh INDIR OUTDIR NAME: let the image's agent work on the picture INDIR/NAME; the result is OUTDIR/NAME.
exec brig run --image image-agent ${STORE:+--image-store "$STORE"} --input "$1" --output "$2" --timeout 1m \
	--pids-limit 16 -- python3 /app/agent.py "/input/$3" "/output/$3"
