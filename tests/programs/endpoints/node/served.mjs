// SPDX-License-Identifier: Apache-2.0

// tests/programs/endpoints/node/served.mjs - a Node service that serves its profiles by @datadog/pprof
//
// Serves /debug/pprof/profile?seconds=N (time on and off the CPU) and /debug/pprof/heap at a port of 127.0.0.1, and prints
// HOST:PORT in a line of its own. keep() holds 1,000 arrays of 10,000 bytes; burnOuter() calls burnInner(), in half of
// the time.
import { createServer } from 'node:http';
import pprof from '@datadog/pprof';

const kept = [];

function keep(n) {
	for (let i = 0; i < n; i++)
		kept.push(new Array(1250).fill(i));
}

function burnInner(end) {
	let x = 1;
	while (Date.now() < end)
		for (let i = 0; i < 1000; i++)
			x = (x * 31 + i) & 0xffff;
	return x;
}

function burnOuter() {
	burnInner(Date.now() + 5);
}

const profiles = {
	'/debug/pprof/profile': q => pprof.time.profile({ durationMillis: 1000 * Number(q.get('seconds')) }),
	'/debug/pprof/heap': () => pprof.heap.profile(),
};

async function answer(request, response) {
	const url = new URL(request.url, 'http://127.0.0.1');
	const profile = profiles[url.pathname];

	try {
		response.statusCode = profile ? 200 : 404;
		response.end(profile ? await pprof.encode(await profile(url.searchParams)) : '');
	} catch (e) {
		// As when two want the one that is of a time.
		response.statusCode = 503;
		response.end(String(e));
	}
}

pprof.heap.start(4096, 64);
keep(1000);
setInterval(burnOuter, 10);
const server = createServer(answer);
server.listen(0, '127.0.0.1', () => console.log(`127.0.0.1:${server.address().port}`));
