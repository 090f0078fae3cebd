// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/chain.go - spins at the end of a known chain of calls
//
//	chain SECONDS
//
// main.main > main.alpha > main.beta > main.spin. spin has a frame of its own, because it keeps an
// array: a Go function without one leaves no frame record.
package main

import (
	"os"
	"strconv"
	"time"
)

var sink uint64

//go:noinline
func spin() {
	var table [128]uint64

	for i := uint64(0); i < 1000000; i++ {
		table[i&127] += i
	}
	sink += table[sink&127]
}

//go:noinline
func beta() {
	spin()
	sink++
}

//go:noinline
func alpha(seconds float64) {
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		beta()
	}
	sink++
}

func main() {
	seconds := 1.0

	if len(os.Args) > 1 {
		seconds, _ = strconv.ParseFloat(os.Args[1], 64)
	}
	alpha(seconds)
	sink++
}
