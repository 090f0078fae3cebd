// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/cgo/main.go - spins at the end of a chain of calls through Go, C and the vDSO
//
//	cgo leaf|c|callback|clock
//
// main.main > main.run > ... as the mode says; it ends only when it is killed. main.leaf has no frame
// of its own, C runs on another stack than Go, and so does the vDSO when Go calls it.
package main

/*
extern int go_callback(int);

static int __attribute__((noinline)) c_leaf(int n)
{
	volatile int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i;
	return sum;
}

static int __attribute__((noinline)) c_outer(int n)
{
	return c_leaf(n) + 1;
}

static int __attribute__((noinline)) c_calls_go(int n)
{
	return go_callback(n) + 1;
}
*/
import "C"

import (
	"os"
	"time"
)

//export go_callback
func go_callback(n C.int) C.int { return C.int(calls(int(n))) }

//go:noinline
func leaf(x int) int {
	for i := 0; i < 100000; i++ {
		x = x*3 + i
	}
	return x
}

//go:noinline
func calls(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += leaf(i)
	}
	return sum
}

//go:noinline
func clock(n int) int {
	sum := 0
	for i := 0; i < n; i++ {
		sum += time.Now().Nanosecond()
	}
	return sum
}

//go:noinline
func run(mode string) int {
	switch mode {
	case "leaf":
		return calls(1000)
	case "c":
		return int(C.c_outer(100000000))
	case "callback":
		return int(C.c_calls_go(1000))
	default:
		return clock(1000000)
	}
}

func main() {
	for sum := 0; ; {
		sum += run(os.Args[1])
	}
}
