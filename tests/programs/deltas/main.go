// SPDX-License-Identifier: Apache-2.0

// tests/programs/deltas - a Go service whose profiles are what was added since they were asked for last, and fgprof
//
// Serves godeltaprof's /debug/pprof/delta_{heap,mutex,block}, /debug/fgprof, and Go's own /debug/pprof at a port of 127.0.0.1, and
// prints HOST:PORT. GET /allocate?n=N: N blocks of 10,000 bytes; GET /contend: two goroutines wait for a lock.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/felixge/fgprof"
	deltas "github.com/grafana/pyroscope-go/godeltaprof/http/pprof"
)

var sink []byte

//go:noinline
func allocate(n int) {
	for i := 0; i < n; i++ {
		sink = make([]byte, 10000)
	}
}

//go:noinline
func contend() {
	var mu sync.Mutex
	var wg sync.WaitGroup

	for i := 0; i < 2; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 20; k++ {
				mu.Lock()
				time.Sleep(2 * time.Millisecond)
				mu.Unlock()
			}
		}()
	}
	wg.Wait()
}

//go:noinline
func waits() {
	for {
		time.Sleep(10 * time.Millisecond)
	}
}

func main() {
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	go waits()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// Its own place in the usual mux depends on the version of Go.
	mux := http.NewServeMux()
	mux.Handle("/", http.DefaultServeMux)
	mux.HandleFunc("/debug/pprof/delta_heap", deltas.Heap)
	mux.HandleFunc("/debug/pprof/delta_mutex", deltas.Mutex)
	mux.HandleFunc("/debug/pprof/delta_block", deltas.Block)
	mux.Handle("/debug/fgprof", fgprof.Handler())
	mux.HandleFunc("/allocate", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		allocate(n)
		// The heap profile shows what two collections have seen.
		runtime.GC()
		runtime.GC()
		fmt.Fprintln(w, n)
	})
	mux.HandleFunc("/contend", func(w http.ResponseWriter, r *http.Request) {
		contend()
		fmt.Fprintln(w, "done")
	})
	fmt.Println(listener.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(listener, mux))
}
