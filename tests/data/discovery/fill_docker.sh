#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/data/discovery/fill_docker.sh - puts the containers of the tests into a Docker daemon ($DOCKER_HOST), and changes them
#
#	fill_docker.sh [change]
#
# The image is a static busybox alone (package busybox-static).
set -eu
run() { docker run -d --init=false "$@"; }
if [ "${1-}" = change ]; then
	run --name late --label tier=front --label also -p 127.0.0.1:18082:8082 --expose 8083/udp idle sleep 1000000
	docker stop -t 1 gone
	docker network connect gamma two-networks
	exit
fi
image=$(mktemp -d)
mkdir "$image/bin"
cp /bin/busybox "$image/bin/sleep"
tar -C "$image" -c . | docker import - idle
rm -r "$image"
docker network create --label team=a --label a.b/c-d=1 alpha
docker network create --internal beta
docker network create --ipv6 --subnet fd00:7::/64 gamma
run --name web --label tier=front --label also --label com.example/odd-key.x='a b' --label empty= \
	-p 18080:8080 -p 127.0.0.1:18443:8443 -p 18053:53/udp --expose 9999 idle sleep 1000000
run --name two-networks --network alpha --label tier=front --expose 8081 idle sleep 1000000
docker network connect beta two-networks
run --name udp-only --network alpha --expose 53/udp --label also idle sleep 1000000
run --name six --network gamma -p 18084:8084 idle sleep 1000000
run --name no-port --network beta idle sleep 1000000
run --name in-host --network host --label tier=front idle sleep 1000000
run --name in-none --network none idle sleep 1000000
run --name beside-web --network container:web idle sleep 1000000
run --name beside-host --network container:in-host idle sleep 1000000
run --name gone --expose 1 idle sleep 1000000
run --name stopped idle sleep 0
