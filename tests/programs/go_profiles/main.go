// SPDX-License-Identifier: Apache-2.0

// go_profiles - writes one real profile of each kind that Go's runtime knows, as files in a directory
//
//	go_profiles DIR
//
// cpu.pb.gz (with labels), heap.pb.gz, allocs.pb.gz, goroutine.pb.gz, mutex.pb.gz, block.pb.gz,
// threadcreate.pb.gz. Standard library only, so it builds without a network. What works is in
// functions of telling names: main.burnOuter calls main.burnInner, and so on.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var sink uint64

//go:noinline
func burnInner(n int) {
	for i := 0; i < n; i++ {
		sink = sink*6364136223846793005 + 1442695040888963407
	}
}

//go:noinline
func burnOuter(until time.Time) {
	for time.Now().Before(until) {
		burnInner(100000)
	}
}

var kept [][]byte

//go:noinline
func allocate() {
	for i := 0; i < 2000; i++ {
		b := make([]byte, 10000)
		if i%10 == 0 {
			kept = append(kept, b)
		}
	}
}

//go:noinline
func contend() {
	var mu sync.Mutex
	var wg sync.WaitGroup

	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 20; k++ {
				mu.Lock()
				time.Sleep(100 * time.Microsecond)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func create(dir, name string) *os.File {
	f, err := os.Create(filepath.Join(dir, name+".pb.gz"))
	check(err)
	return f
}

func main() {
	if len(os.Args) != 2 {
		check(fmt.Errorf("usage: go_profiles DIR"))
	}
	dir := os.Args[1]
	runtime.MemProfileRate = 4096
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)

	f := create(dir, "cpu")
	check(pprof.StartCPUProfile(f))
	labels := pprof.Labels("handler", "/buy", "odd name", "a;b\nc")
	pprof.Do(context.Background(), labels, func(context.Context) {
		burnOuter(time.Now().Add(300 * time.Millisecond))
	})
	burnOuter(time.Now().Add(200 * time.Millisecond))
	pprof.StopCPUProfile()
	check(f.Close())

	allocate()
	contend()
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "goroutine", "mutex", "block", "threadcreate"} {
		f := create(dir, name)
		check(pprof.Lookup(name).WriteTo(f, 0))
		check(f.Close())
	}
}
