// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/lines.go - spins in a function that is inlined in another one that is inlined
//
//	lines SECONDS
//
// main.main > main.outer > main.middle > main.innermost, of which the last two have no frame.
package main

import (
	"os"
	"strconv"
	"time"
)

var sink uint64

func innermost(n uint64) uint64 {
	x := n
	for i := uint64(0); i < n; i++ { // the loop
		x ^= x<<7 ^ i
	}
	return x
}

func middle(n uint64) uint64 { return innermost(n) + 1 }

//go:noinline
func outer(n uint64) { sink += middle(n) }

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)

	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		outer(1000000)
	}
}
