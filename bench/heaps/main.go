// SPDX-License-Identifier: Apache-2.0

// heaps - serves heap profiles that grow, for bench/scrape
//
//	heaps SNAPSHOTS HOSTS [DOORS CERTIFICATE]
//
// Makes that many real profiles of its own allocations, one after the other, of 60 to 70 kB each (gzip, as Go writes them; but
// without their times, as they are told later: who reads one takes it for one of now), prints its port and the sizes in bytes, packed and unpacked, of the last, and serves them at that port of HOSTS addresses, of which
// the i-th is 127.1.(i / 250).(i % 250 + 1): each is a host of its own, that nobody shares a connection with. The k-th question to
// one gets the k-th profile, and from the last on always that. The profiles are this program's: main.leaf under some
// 4,300 different chains of main.left and main.right. DOORS ports more speak TLS; their numbers are the second line, and the
// certificate that they show, which is its own authority, stands in the file CERTIFICATE. Standard library only.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
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
	check(pprof.Lookup("allocs").WriteTo(&b, 0))
	plain := untimed(unpacked(b.Bytes()))
	b.Reset()
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	check(err)
	w.Write(plain)
	check(w.Close())
	return b.Bytes()
}

func unpacked(b []byte) []byte {
	r, err := gzip.NewReader(bytes.NewReader(b))
	check(err)
	plain, err := io.ReadAll(r)
	check(err)
	return plain
}

// Without the field time_nanos of profile.proto, number 9. All others are integers, or have their length before them.
func untimed(plain []byte) []byte {
	var left []byte

	for len(plain) > 0 {
		key, n := binary.Uvarint(plain)
		value, m := binary.Uvarint(plain[n:])
		n += m
		if key&7 == 2 {
			n += int(value)
		}
		if key>>3 != 9 {
			left = append(left, plain[:n]...)
		}
		plain = plain[n:]
	}
	return left
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func certificate(file string) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	all := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "heaps"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, &all, &all, key.Public(), key)
	check(err)
	check(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0600))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Serves at so many ports, whose numbers it prints.
func open(doors int, file string) {
	config := &tls.Config{Certificates: []tls.Certificate{certificate(file)}}
	for i := 0; i < doors; i++ {
		l, err := tls.Listen("tcp", "127.0.0.1:0", config)
		check(err)
		fmt.Print(l.Addr().(*net.TCPAddr).Port, " ")
		go http.Serve(l, nil)
	}
	fmt.Println()
}

func main() {
	runtime.MemProfileRate = 1
	snapshots, _ := strconv.Atoi(os.Args[1])
	all := make([][]byte, snapshots)
	for i := range all {
		for path := uint(0); path < 4300; path++ {
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
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		lock.Lock()
		k := asked[r.Host]
		if k < len(all)-1 {
			asked[r.Host]++
		}
		lock.Unlock()
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Write(all[k])
	})
	hosts, _ := strconv.Atoi(os.Args[2])
	port, last := "0", all[len(all)-1]
	for i := 0; i < hosts; i++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.1.%d.%d:%s", i/250, i%250+1, port))
		check(err)
		_, port, _ = net.SplitHostPort(l.Addr().String())
		go http.Serve(l, nil)
	}
	fmt.Println(port, len(last), len(unpacked(last)))
	if len(os.Args) > 4 {
		doors, _ := strconv.Atoi(os.Args[3])
		open(doors, os.Args[4])
	}
	select {}
}
