#!/bin/sh
# build.sh [BASE [FLAG...]]: make the image image-agent of BASE, which has Python and pip (python:3.12-slim). FLAGs are
# pip's. (With apt-get it would be --user 0 ... apt-get -o APT::Sandbox::User=root install ..., since a payload has one
# user.) What pip runs sees this directory and reaches PyPI, and nothing else. STORE is a store other than the caller's.
set -eu
cd "$(dirname "$0")"
base=${1:-python:3.12-slim}
[ $# = 0 ] || shift
exec brig run --image "$base" ${STORE:+--image-store "$STORE"} --rootfs-writable --commit image-agent --input . \
	--allow pypi.org --allow files.pythonhosted.org -- \
	sh -ec 'python3 -m pip install --no-cache-dir -r /input/requirements.txt "$@"; mkdir /app; cp /input/agent.py /app' \
	pip "$@"
