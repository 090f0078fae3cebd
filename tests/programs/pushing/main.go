// SPDX-License-Identifier: Apache-2.0

// A program that sends its own profiles as Pyroscope's clients do, and a server of what they send.
//
//	pushing sdk URL SECONDS    the SDK, for so long: CPU and heap
//	pushing connect URL FILE   a pprof by push.v1, as Connect's client of the published service sends it, as a message and in JSON
//	pushing serve              the published service: prints its address first, and then a line for each type of each series
//
// The server refuses what Pyroscope does by default (unpacked, over 4 MiB or 16,000 samples; over 2 MiB at once), and a series with the label
// refuse=CODE[:TIMES] by that error of Connect, so many times (always without), and as Pyroscope does names of labels, of series and of
// samples alike, that are not [a-zA-Z_][a-zA-Z0-9_]*, or there twice. /ingest takes what gigapipe's does.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/grafana/pyroscope-go"
	"google.golang.org/protobuf/proto"
)

//go:noinline
func burnPushed(until time.Time) int {
	n := 0
	for time.Now().Before(until) {
		for i := 0; i < 1000; i++ {
			n += i * i
		}
	}
	return n
}

var kept [][]byte

//go:noinline
func allocatePushed(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "pushing:", err)
		os.Exit(1)
	}
}

func bySDK(url string, seconds int) {
	p, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "shop.checkout",
		ServerAddress:   url,
		Logger:          pyroscope.StandardLogger,
		Tags:            map[string]string{"env": "test"},
		UploadRate:      time.Second,
	})
	check(err)
	allocatePushed(64)
	fmt.Println(burnPushed(time.Now().Add(time.Duration(seconds) * time.Second)))
	p.Flush(true)
	check(p.Stop())
}

func byConnect(url, file, service string, options ...connect.ClientOption) {
	raw, err := os.ReadFile(file)
	check(err)
	client := pushv1connect.NewPusherServiceClient(http.DefaultClient, url, append(options, connect.WithSendGzip())...)
	_, err = client.Push(context.Background(), connect.NewRequest(&pushv1.PushRequest{
		Series: []*pushv1.RawProfileSeries{{
			Labels: []*typesv1.LabelPair{
				{Name: "__name__", Value: "thing"},
				{Name: "service_name", Value: service},
			},
			Samples: []*pushv1.RawSample{{RawProfile: raw, ID: "0b5f1d4a-9a54-4e2c-9d0a-0d6a2f6f4d7e"}},
		}},
	}))
	check(err)
}

const (
	maxBytes   = 4 << 20
	maxBurst   = 2 << 20
	maxSamples = 16000
)

type server struct {
	lock    sync.Mutex
	refused map[string]int
	ids     map[string]bool
}

// The codes of Connect are those of gRPC.
func (s *server) refusal(text string) error {
	number, times, limited := strings.Cut(text, ":")
	code, _ := strconv.Atoi(number)
	limit, _ := strconv.Atoi(times)
	s.refused[text]++
	if text == "" || limited && s.refused[text] > limit {
		return nil
	}
	return connect.NewError(connect.Code(code), errors.New("refused: 100 % of \"it\""))
}

var labelName = regexp.MustCompile("^[a-zA-Z_][a-zA-Z0-9_]*$")

func checkNames(names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		if !labelName.MatchString(name) {
			return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("invalid label name '%s'", name))
		}
		if seen[name] {
			return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("duplicate label name: '%s'", name))
		}
		seen[name] = true
	}
	return nil
}

// The labels of samples, as text.
func sampleLabels(p *googlev1.Profile) (string, error) {
	texts := map[string]bool{}
	for _, s := range p.Sample {
		var names []string
		for _, l := range s.Label {
			names = append(names, p.StringTable[l.Key])
			texts[p.StringTable[l.Key]+"="+p.StringTable[l.Str]] = true
		}
		if err := checkNames(names); err != nil {
			return "", err
		}
	}
	var all []string
	for text := range texts {
		all = append(all, text)
	}
	sort.Strings(all)
	return strings.Join(all, ","), nil
}

// Of what a request may have there is a bound of its own: what the rate limit lets through at one moment.
func read(raw []byte, left *int) (*googlev1.Profile, error) {
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if *left -= len(plain); *left < 0 {
		return nil, connect.NewError(connect.CodeResourceExhausted, errors.New("push rate limit reached"))
	}
	if len(plain) > maxBytes {
		return nil, fmt.Errorf("the profile has %d bytes", len(plain))
	}
	p := &googlev1.Profile{}
	if err := proto.Unmarshal(plain, p); err != nil {
		return nil, err
	}
	if len(p.Sample) > maxSamples {
		return nil, fmt.Errorf("the profile has %d samples", len(p.Sample))
	}
	return p, nil
}

func (s *server) take(series *pushv1.RawProfileSeries, left *int) error {
	var name, service, refuse string
	var labels, names []string
	for _, l := range series.Labels {
		names = append(names, l.Name)
		switch l.Name {
		case "__name__":
			name = l.Value
		case "refuse":
			refuse = l.Value
			labels = append(labels, "refuse="+l.Value)
		case "service_name":
			service = l.Value
			fallthrough
		default:
			labels = append(labels, l.Name+"="+l.Value)
		}
	}
	if err := s.refusal(refuse); err != nil {
		return err
	}
	if err := checkNames(names); err != nil {
		return err
	}
	sort.Strings(labels)
	sums, samples := map[string]int64{}, 0
	for _, raw := range series.Samples {
		p, err := read(raw.RawProfile, left)
		if refused := new(connect.Error); errors.As(err, &refused) {
			return refused
		} else if err != nil {
			return connect.NewError(connect.CodeInvalidArgument, err)
		}
		if s.ids[raw.ID] || len(raw.ID) != 36 {
			return connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("id %q", raw.ID))
		}
		s.ids[raw.ID] = true
		fmt.Printf("of %s at %d for %d\n", service, p.TimeNanos, p.DurationNanos)
		of, err := sampleLabels(p)
		if err != nil {
			return err
		}
		if of != "" {
			fmt.Printf("samples of %s: %s\n", service, of)
		}
		samples += len(p.Sample)
		for i, t := range p.SampleType {
			of := p.StringTable[t.Type] + ":" + p.StringTable[t.Unit]
			for _, each := range p.Sample {
				sums[of] += each.Value[i]
			}
		}
	}
	for of, sum := range sums {
		fmt.Printf("%s:%s{%s} sum=%d samples=%d\n", name, of, strings.Join(labels, ","), sum, samples)
	}
	return nil
}

func (s *server) Push(_ context.Context, r *connect.Request[pushv1.PushRequest]) (*connect.Response[pushv1.PushResponse], error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if tenant := r.Header().Get("X-Scope-OrgID"); tenant != "" {
		fmt.Println("tenant:", tenant)
	}
	if who := r.Header().Get("Authorization"); who != "" {
		fmt.Println("as", who)
	}
	left := maxBurst
	for _, series := range r.Msg.Series {
		if err := s.take(series, &left); err != nil {
			return nil, err
		}
	}
	return connect.NewResponse(&pushv1.PushResponse{}), nil
}

// ingest takes the types of body that gigapipe has a parser for.
func ingest(w http.ResponseWriter, r *http.Request) {
	kind := r.Header.Get("Content-Type")
	if kind != "binary/octet-stream" && !strings.HasPrefix(kind, "multipart/form-data") {
		http.Error(w, "Content-Type not supported", http.StatusBadRequest)
		return
	}
	left := maxBytes
	raw, err := io.ReadAll(r.Body)
	p := &googlev1.Profile{}
	if err == nil {
		p, err = read(raw, &left)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_, text, _ := strings.Cut(strings.TrimSuffix(r.URL.Query().Get("name"), "}"), "{")
	var names []string
	for _, pair := range strings.Split(text, ",") {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	if err := checkNames(names); text != "" && err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	if _, err := sampleLabels(p); err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	fmt.Printf("ingest %s %s of %d samples\n", r.URL.Query().Get("name"), r.URL.Query().Get("format"), len(p.Sample))
}

func serve() {
	mux := http.NewServeMux()
	mux.Handle(pushv1connect.NewPusherServiceHandler(&server{refused: map[string]int{}, ids: map[string]bool{}}))
	mux.HandleFunc("/ingest", ingest)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println("at", l.Addr())
	check(http.Serve(l, mux))
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "serve":
		serve()
	case len(os.Args) == 4 && os.Args[1] == "sdk":
		seconds, err := strconv.Atoi(os.Args[3])
		check(err)
		bySDK(os.Args[2], seconds)
	case len(os.Args) == 4 && os.Args[1] == "connect":
		byConnect(os.Args[2], os.Args[3], "connected")
		byConnect(os.Args[2], os.Args[3], "in_json", connect.WithProtoJSON())
	default:
		check(fmt.Errorf("usage: pushing sdk URL SECONDS | pushing connect URL FILE | pushing serve"))
	}
}
