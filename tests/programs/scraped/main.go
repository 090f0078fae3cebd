// SPDX-License-Identifier: Apache-2.0

// scraped - a Go service with profiles of every kind, whose contents are known
//
//	scraped [ADDRESS]
//
// Serves net/http/pprof at ADDRESS (127.0.0.1:0), and prints HOST:PORT in a line of its own. main.burnOuter calls
// main.burnInner all the time, as long as one in two milliseconds, with the label request=/checkout; 50 goroutines wait in
// main.park; all allocations are in the heap profile. GET /allocate?n=N allocates N blocks of 10,000 bytes in main.allocate and forgets them; GET
// /contend has two goroutines wait for a lock in main.contend. /once/debug/pprof/profile takes one CPU profile, and answers
// with it ever after. Standard library only.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"runtime"
	labels "runtime/pprof"
	"strconv"
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
func burnOuter() {
	for {
		for began := time.Now(); time.Since(began) < 5*time.Millisecond; {
			burnInner(10000)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

//go:noinline
func park(forever chan struct{}) { <-forever }

var kept, block []byte

//go:noinline
func keep() { kept = make([]byte, 1<<20) }

//go:noinline
func allocate(n int) {
	for i := 0; i < n; i++ {
		block = make([]byte, 10000)
	}
	block = nil
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

// once answers all with the first good answer of `handler`.
func once(handler http.Handler) http.HandlerFunc {
	var mu sync.Mutex
	var first *httptest.ResponseRecorder

	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil || first.Code != http.StatusOK {
			first = httptest.NewRecorder()
			handler.ServeHTTP(first, r)
		}
		w.WriteHeader(first.Code)
		w.Write(first.Body.Bytes())
	}
}

func main() {
	// Before anything is allocated that counts.
	runtime.MemProfileRate = 1
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)

	keep()
	address := "127.0.0.1:0"
	if len(os.Args) > 1 {
		address = os.Args[1]
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	forever := make(chan struct{})
	for i := 0; i < 50; i++ {
		go park(forever)
	}
	go labels.Do(context.Background(), labels.Labels("request", "/checkout"), func(context.Context) { burnOuter() })
	http.HandleFunc("/allocate", func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		allocate(n)
		// The heap profile shows what two collections have seen.
		runtime.GC()
		runtime.GC()
		fmt.Fprintln(w, n)
	})
	http.HandleFunc("/contend", func(w http.ResponseWriter, r *http.Request) {
		contend()
		fmt.Fprintln(w, "done")
	})
	// A server whose list has goroutine alone.
	http.HandleFunc("/few/debug/pprof/", func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/few/debug/pprof/goroutine":
			pprof.Handler("goroutine").ServeHTTP(w, r)
		case "/few/debug/pprof/":
			fmt.Fprintln(w, "<a href='goroutine?debug=1'>goroutine</a>")
		default:
			http.NotFound(w, r)
		}
	})
	// The same profile whoever asks.
	http.HandleFunc("/once/debug/pprof/profile", once(http.HandlerFunc(pprof.Profile)))
	fmt.Println(listener.Addr())
	fmt.Fprintln(os.Stderr, http.Serve(listener, nil))
}
