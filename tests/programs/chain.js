// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/chain.js - spins at the end of a known chain of calls, in code that a JIT made
//
//	node --perf-basic-prof --no-turbo-inlining --no-maglev-inlining chain.js SECONDS
//
// run > alpha > beta > spin
'use strict';

let sink = 0;

function spin() {
	for (let i = 0; i < 1000000; i++)
		sink = (sink + i) | 0;
}

function beta() {
	spin();
	sink |= 0;
}

function alpha() {
	beta();
	sink |= 0;
}

function run(seconds) {
	const end = Date.now() + seconds * 1000;

	while (Date.now() < end)
		alpha();
}

run(parseFloat(process.argv[2] || '1'));
