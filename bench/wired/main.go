// SPDX-License-Identifier: Apache-2.0

// wired - the other end of bench/wire: sends real profiles by Parca's WriteRaw, takes them as a server of Go's, or only connects
//
//	wired send ADDRESS PROFILE named|bare SECONDS RATE [CA]
//	                                                     calls from four goroutines, over one connection each, TLS where an authority
//	                                                     is named; RATE: samples a second, 0: as many as are taken. Prints samples,
//	                                                     calls, bytes, seconds, and the 50th and 99th percentile of a call in ms: with a
//	                                                     rate, of one that waits for another, from when it was due
//	wired serve [CERT KEY]                               prints its address; reads messages, unpacks and parses each profile, and forgets it
//	wired idle ADDRESS N [CA]                            so many connections that say nothing but HTTP/2's first words, over TLS where an
//	                                                     authority is named; says "open" when they are, and ends with its input
//	wired shake ADDRESS CA                               opens TLS connections as fast as four goroutines can, until its input ends;
//	                                                     prints how many, and the seconds
//
// `bare` profiles have no functions: addresses and mappings, as a sampler sends them that names nothing. Each call has another time
// and is of one of a hundred series, so that none is the same as another.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"os"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/pprof/profile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	method   = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"
	workers  = 4
	series   = 100
	prepared = 2000
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "wired:", err)
		os.Exit(1)
	}
}

// Messages as they are on the wire.
type plain struct{}

func (plain) Name() string                    { return "proto" }
func (plain) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (plain) Unmarshal(b []byte, v any) error { *v.(*[]byte) = append([]byte(nil), b...); return nil }

func nested(b []byte, field protowire.Number, inner []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), inner)
}

func label(name, value string) []byte {
	return nested(nested(nil, 1, []byte(name)), 2, []byte(value))
}

// WriteRawRequest{series: {labels: {labels}, samples: {raw_profile}}}
func request(i int, packed []byte) []byte {
	labels := nested(nil, 1, label("__name__", "process_cpu"))
	labels = nested(labels, 1, label("job", "wire"))
	labels = nested(labels, 1, label("instance", strconv.Itoa(i%series)))
	return nested(nil, 2, nested(nested(nil, 1, labels), 2, nested(nil, 1, packed)))
}

func strip(p *profile.Profile) {
	for _, l := range p.Location {
		l.Line = nil
	}
	for i, m := range p.Mapping {
		m.HasFunctions, m.HasFilenames, m.HasLineNumbers, m.HasInlineFrames = false, false, false, false
		if m.BuildID == "" {
			m.BuildID = fmt.Sprintf("%040x", i+1)
		}
	}
	p.Function = nil
}

// As many as are sent at this rate, or what memory has room for.
func requests(file string, bare bool, seconds, rate float64) (all [][]byte, samples int) {
	raw, err := os.ReadFile(file)
	must(err)
	p, err := profile.ParseData(raw)
	must(err)
	if bare {
		strip(p)
	}
	now := time.Now().UnixNano()
	n := prepared
	if need := int(seconds*rate)/len(p.Sample) + workers; rate > 0 && need < n {
		n = need
	}
	for i := 0; i < n; i++ {
		p.TimeNanos = now - int64(i)*int64(10*time.Second)
		var b bytes.Buffer
		must(p.Write(&b))
		all = append(all, request(i, b.Bytes()))
	}
	return all, len(p.Sample)
}

func connect(address string, config *tls.Config) *grpc.ClientConn {
	as := insecure.NewCredentials()
	if config != nil {
		as = credentials.NewTLS(config)
	}
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(as), grpc.WithDefaultCallOptions(grpc.ForceCodec(plain{})))
	must(err)
	return c
}

func send(address, file string, bare bool, seconds float64, rate float64, config *tls.Config) {
	all, samples := requests(file, bare, seconds, rate)
	var lock sync.Mutex
	var took []float64
	var size, calls int
	began := time.Now()
	end := began.Add(time.Duration(seconds * float64(time.Second)))
	var group sync.WaitGroup
	for w := 0; w < workers; w++ {
		group.Add(1)
		go func(w int) {
			defer group.Done()
			c := connect(address, config)
			defer c.Close()
			for n := 0; ; n++ {
				turn := n*workers + w
				from := began.Add(time.Duration(float64(turn*samples) / rate * float64(time.Second)))
				if wait := time.Until(from); rate == 0 || wait > 0 {
					if rate > 0 {
						time.Sleep(wait)
					}
					from = time.Now()
				}
				if !time.Now().Before(end) || turn >= len(all) {
					return
				}
				message, answer := all[turn], []byte(nil)
				must(c.Invoke(context.Background(), method, &message, &answer))
				ms := float64(time.Since(from).Microseconds()) / 1000
				lock.Lock()
				took = append(took, ms)
				size += len(message)
				calls++
				lock.Unlock()
			}
		}(w)
	}
	group.Wait()
	elapsed := time.Since(began).Seconds()
	sort.Float64s(took)
	fmt.Println(calls*samples, calls, size, elapsed, took[len(took)/2], took[len(took)*99/100])
}

// Every raw_profile of a request.
func each(b []byte, path []protowire.Number, act func([]byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		m := protowire.ConsumeFieldValue(number, kind, b)
		if m < 0 {
			return protowire.ParseError(m)
		}
		if number == path[0] && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(b)
			var err error
			if len(path) == 1 {
				err = act(inner)
			} else {
				err = each(inner, path[1:], act)
			}
			if err != nil {
				return err
			}
		}
		b = b[m:]
	}
	return nil
}

func serve(more ...grpc.ServerOption) {
	server := grpc.NewServer(append(more, grpc.ForceServerCodec(plain{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		var message, answer []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		if err := each(message, []protowire.Number{2, 2, 1}, func(raw []byte) error {
			p, err := profile.ParseData(raw)
			if err == nil {
				err = p.CheckValid()
			}
			return err
		}); err != nil {
			return err
		}
		return stream.SendMsg(&answer)
	}))...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Println(l.Addr())
	must(server.Serve(l))
}

func trusting(ca string) *tls.Config {
	pem, err := os.ReadFile(ca)
	must(err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: pool, ServerName: "localhost", NextProtos: []string{"h2"}}
}

// The preface and empty settings: RFC 9113, 3.4.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

func idle(address string, n int, config *tls.Config) {
	all := make([]net.Conn, 0, n)
	for i := 0; i < n; i++ {
		c, err := net.Dial("tcp", address)
		must(err)
		if config != nil {
			t := tls.Client(c, config)
			must(t.Handshake())
			c = t
		}
		_, err = c.Write([]byte(preface))
		must(err)
		head := make([]byte, 9)
		_, err = io.ReadFull(c, head)
		must(err)
		all = append(all, c)
	}
	fmt.Println("open")
	bufio.NewReader(os.Stdin).ReadString('\n')
	for _, c := range all {
		c.Close()
	}
}

func shake(address string, config *tls.Config) {
	began := time.Now()
	var ended int32
	go func() {
		io.Copy(io.Discard, os.Stdin)
		atomic.StoreInt32(&ended, 1)
	}()
	var lock sync.Mutex
	var group sync.WaitGroup
	n := 0
	for w := 0; w < workers; w++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for atomic.LoadInt32(&ended) == 0 {
				c, err := tls.Dial("tcp", address, config)
				must(err)
				c.Close()
				lock.Lock()
				n++
				lock.Unlock()
			}
		}()
	}
	group.Wait()
	fmt.Println(n, time.Since(began).Seconds())
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	must(err)
	return v
}

func main() {
	arg := os.Args[1:]
	switch {
	case len(arg) == 6 && arg[0] == "send":
		send(arg[1], arg[2], arg[3] == "bare", number(arg[4]), number(arg[5]), nil)
	case len(arg) == 7 && arg[0] == "send":
		send(arg[1], arg[2], arg[3] == "bare", number(arg[4]), number(arg[5]), trusting(arg[6]))
	case len(arg) == 1 && arg[0] == "serve":
		serve()
	case len(arg) == 3 && arg[0] == "serve":
		as, err := credentials.NewServerTLSFromFile(arg[1], arg[2])
		must(err)
		serve(grpc.Creds(as))
	case len(arg) == 3 && arg[0] == "idle":
		idle(arg[1], int(number(arg[2])), nil)
	case len(arg) == 4 && arg[0] == "idle":
		idle(arg[1], int(number(arg[2])), trusting(arg[3]))
	case len(arg) == 3 && arg[0] == "shake":
		shake(arg[1], trusting(arg[2]))
	default:
		fmt.Fprintln(os.Stderr, "usage: wired send|serve|idle|shake ...")
		os.Exit(2)
	}
}
