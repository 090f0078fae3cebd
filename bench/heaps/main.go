// SPDX-License-Identifier: Apache-2.0

// heaps - serves heap profiles that grow, for bench/scrape
//
//	heaps SNAPSHOTS
//
// Makes that many real profiles of its own allocations, one after the other, of about 60 kB each (gzip, as Go writes them),
// prints the address, the sizes in bytes packed and unpacked, and the samples of the last, and serves them: the k-th question
// with one ?n=N gets the k-th, and from the last on always that. The profiles are this program's: main.leaf under some
// 3,200 different chains of main.left and main.right. Standard library only.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
)

var kept [][]byte

//go:noinline
func leaf(size int) { kept = append(kept, make([]byte, size)) }

// The path of bits is the chain of calls: another one for each number.
//
//go:noinline
func left(path uint, depth int, size int) { walk(path, depth-1, size) }

//go:noinline
func right(path uint, depth int, size int) { walk(path, depth-1, size) }

//go:noinline
func walk(path uint, depth int, size int) {
	if depth == 0 {
		leaf(size)
	} else if path>>uint(depth-1)&1 == 0 {
		left(path, depth, size)
	} else {
		right(path, depth, size)
	}
}

func snapshot() []byte {
	var b bytes.Buffer

	runtime.GC()
	runtime.GC()
	if err := pprof.Lookup("allocs").WriteTo(&b, 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return b.Bytes()
}

func unpacked(b []byte) int {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return 0
	}
	n, _ := io.Copy(io.Discard, r)
	return int(n)
}

func main() {
	runtime.MemProfileRate = 1
	snapshots, _ := strconv.Atoi(os.Args[1])
	all := make([][]byte, snapshots)
	for i := range all {
		for path := uint(0); path < 3200; path++ {
			// A third of them each time, as in a program at work.
			if i == 0 || path%3 == uint(i)%3 {
				walk(path*2654435761>>16, 16, 64+int(path%32)*16)
			}
		}
		kept = kept[len(kept)/2:]
		all[i] = snapshot()
	}
	var lock sync.Mutex
	asked := map[string]int{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	last := all[len(all)-1]
	fmt.Println(listener.Addr(), len(last), unpacked(last))
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		n := r.FormValue("n")
		lock.Lock()
		k := asked[n]
		if k < len(all)-1 {
			asked[n]++
		}
		lock.Unlock()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(all[k])
	})
	fmt.Fprintln(os.Stderr, http.Serve(listener, nil))
}
