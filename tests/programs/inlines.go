// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/inlines.go - Go whose compiler inlines; tests/unit/test_frames.c asks where
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"
)

type pair struct{ a, b int }

func (p pair) sum() int { return p.a*3 + p.b }
func small(x int) int   { return pair{x, x + 1}.sum() + 1 }
func bigger(x int) int  { return small(x) + small(x*2) }

//go:noinline
func work(n int) int {
	t := 0
	for i := 0; i < n; i++ {
		t += bigger(i)
	}
	return t
}

func main() {
	s := strings.Fields(strings.Join(os.Args, " "))
	sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })
	fmt.Println(work(len(s)+1000), s)
}
