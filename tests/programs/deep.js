// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/deep.js - spins at the end of 30 calls of a function that is interpreted
//
//	node --perf-basic-prof deep.js SECONDS
//
// Without --interpreted-frames-native-stack such a call is a frame of the interpreter, which is a part of node's own file.
'use strict';

function spin(n) {
	let sum = 0;

	for (let i = 0; i < n; i++)
		sum = (sum + i * 7) % 1000003;
	return sum;
}

function call(depth, end) {
	let sum = 0;

	if (depth > 0)
		return call(depth - 1, end) + 1;
	while (Date.now() < end)
		sum += spin(100000);
	return sum;
}

call(30, Date.now() + parseFloat(process.argv[2] || '1') * 1000);
