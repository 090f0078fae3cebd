// SPDX-License-Identifier: Apache-2.0
// pushing.js URL: burns CPU in work() for 6 s, and until it has had 4 s of it, and the SDK pushes what it saw of that each 2 s, and at the end
const Pyroscope = require("@pyroscope/nodejs");

function leaf(n) {
	let total = 0;
	for (let i = 1; i < n; i++) total += Math.sqrt(i);
	return total;
}
function work() {
	const end = Date.now() + 50;
	while (Date.now() < end) leaf(20000);
}

Pyroscope.init({
	serverAddress: process.argv[2],
	appName: "shop.node",
	tags: { region: "eu" },
	flushIntervalMs: 2000,
	wall: { collectCpuTime: true },
});
Pyroscope.start();
const timer = setInterval(() => Pyroscope.wrapWithLabels({ controller: "slow" }, work), 60);
const began = Date.now();
const look = setInterval(async () => {
	if (Date.now() < began + 6000 || process.cpuUsage().user < 4e6) return;
	clearInterval(look);
	clearInterval(timer);
	await Pyroscope.stop();
	process.exit(0);
}, 200);
