// SPDX-License-Identifier: Apache-2.0
// A server of OTLP's profiles by grpc-go and net/http, in the version of OTLP that the module it is built with has (one of
// tests/programs/otlp/VERSION.mod, from 1.8 on). It checks what it gets, prints a line for each profile, hands each request on
// to another server, and refuses what it is told to.
//
//	otlp_server [URL]        of the server that gets all that is taken, by HTTP, with $TOKEN; prints "http ADDRESS" and "grpc ADDRESS" first
//
// The attribute refuse=NUMBER[:TIMES] of a resource has the request answered with that status, gRPC's or HTTP's, so many times
// (always without); 8r is RESOURCE_EXHAUSTED with a RetryInfo. lose=TIMES: it is taken first, and then answered as unavailable.
// partial=WORDS: one profile is said to be rejected; warn=WORDS: none.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	profiles "go.opentelemetry.io/proto/otlp/profiles/v1development"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

var (
	lock    sync.Mutex
	counts  = map[string]int{}
	forward string
	client  = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
)

func text(v *common.AnyValue) string {
	if s, ok := v.GetValue().(*common.AnyValue_StringValue); ok {
		return s.StringValue
	}
	return strconv.FormatInt(v.GetIntValue(), 10)
}

// What the attributes of all resources say, by key.
func wishes(request *collector.ExportProfilesServiceRequest) map[string]string {
	all := map[string]string{}
	for _, r := range request.ResourceProfiles {
		for _, a := range r.Resource.GetAttributes() {
			all[a.Key] = text(a.Value)
		}
	}
	return all
}

// Is it one of the first times that this is asked for?
func isDue(key, wish string) (number string, due bool) {
	if wish == "" {
		return "", false
	}
	number, times, limited := strings.Cut(wish, ":")
	limit, _ := strconv.Atoi(times)
	lock.Lock()
	defer lock.Unlock()
	counts[key+wish]++
	return number, !limited || counts[key+wish] <= limit
}

func limited(times string) string {
	if times == "" {
		return ""
	}
	return "x:" + times
}

// ---- what must hold of every request ----

type check struct {
	d *profiles.ProfilesDictionary
}

func unique[T proto.Message](what string, table []T, zero T) error {
	seen := map[string]bool{}
	for i, entry := range table {
		if i == 0 && !proto.Equal(entry, zero) {
			return fmt.Errorf("entry 0 of the %s is %v", what, entry)
		}
		b, _ := proto.MarshalOptions{Deterministic: true}.Marshal(entry)
		if seen[string(b)] {
			return fmt.Errorf("entry %d of the %s is there twice", i, what)
		}
		seen[string(b)] = true
	}
	if len(table) == 0 {
		return fmt.Errorf("the %s is empty", what)
	}
	return nil
}

func within(what string, n int, indices ...int32) error {
	for _, i := range indices {
		if i < 0 || int(i) >= n {
			return fmt.Errorf("%s: %d of %d", what, i, n)
		}
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c check) tables() error {
	d := c.d
	strings := map[string]bool{}
	for i, s := range d.StringTable {
		if (i == 0) != (s == "") || strings[s] {
			return fmt.Errorf("string %d is %q", i, s)
		}
		strings[s] = true
	}
	err := first(unique("mapping_table", d.MappingTable, &profiles.Mapping{}), unique("location_table", d.LocationTable, &profiles.Location{}),
		unique("function_table", d.FunctionTable, &profiles.Function{}), unique("link_table", d.LinkTable, &profiles.Link{}),
		unique("attribute_table", d.AttributeTable, &profiles.KeyValueAndUnit{}), unique("stack_table", d.StackTable, &profiles.Stack{}))
	for _, m := range d.MappingTable {
		err = first(err, within("a mapping", len(d.StringTable), m.FilenameStrindex), within("a mapping", len(d.AttributeTable), m.AttributeIndices...))
	}
	for _, f := range d.FunctionTable {
		err = first(err, within("a function", len(d.StringTable), f.NameStrindex, f.SystemNameStrindex, f.FilenameStrindex))
	}
	for _, a := range d.AttributeTable {
		err = first(err, within("an attribute", len(d.StringTable), a.KeyStrindex, a.UnitStrindex))
	}
	for _, l := range d.LocationTable {
		err = first(err, within("a location", len(d.MappingTable), l.MappingIndex), within("a location", len(d.AttributeTable), l.AttributeIndices...))
		for _, line := range l.Lines {
			err = first(err, within("a line", len(d.FunctionTable), line.FunctionIndex))
		}
	}
	for _, s := range d.StackTable {
		err = first(err, within("a stack", len(d.LocationTable), s.LocationIndices...))
	}
	return err
}

func (c check) profile(p *profiles.Profile) error {
	if p.TimeUnixNano == 0 || len(p.ProfileId) != 16 || len(p.Samples) == 0 {
		return fmt.Errorf("a profile of time %d, id %x, %d samples", p.TimeUnixNano, p.ProfileId, len(p.Samples))
	}
	err := within("a type", len(c.d.StringTable), p.SampleType.GetTypeStrindex(), p.SampleType.GetUnitStrindex(),
		p.PeriodType.GetTypeStrindex(), p.PeriodType.GetUnitStrindex())
	for _, s := range p.Samples {
		err = first(err, within("a sample", len(c.d.StackTable), s.StackIndex), within("a sample", len(c.d.AttributeTable), s.AttributeIndices...))
		if len(s.Values) != 1 || len(s.TimestampsUnixNano) != 0 || s.LinkIndex != 0 {
			err = first(err, fmt.Errorf("a sample of %d values, %d timestamps, link %d", len(s.Values), len(s.TimestampsUnixNano), s.LinkIndex))
		}
	}
	return err
}

// ---- what is printed ----

func (c check) attributes(indices []int32) string {
	var all []string
	for _, i := range indices {
		a := c.d.AttributeTable[i]
		all = append(all, c.d.StringTable[a.KeyStrindex]+"="+text(a.Value)+c.d.StringTable[a.UnitStrindex])
	}
	sort.Strings(all)
	return strings.Join(all, ",")
}

func (c check) frames(s *profiles.Sample) string {
	var all []string
	for _, i := range c.d.StackTable[s.StackIndex].LocationIndices {
		l := c.d.LocationTable[i]
		m := c.d.MappingTable[l.MappingIndex]
		name := fmt.Sprintf("%#x", l.Address)
		for k, line := range l.Lines {
			if k == 0 {
				name = ""
			} else {
				name += "<"
			}
			name += c.d.StringTable[c.d.FunctionTable[line.FunctionIndex].NameStrindex]
		}
		name += "[" + c.attributes(l.AttributeIndices) + "]"
		if m.FilenameStrindex != 0 {
			name += "@" + c.d.StringTable[m.FilenameStrindex] + "[" + c.attributes(m.AttributeIndices) + "]"
		}
		all = append(all, name)
	}
	return strings.Join(all, ";")
}

func show(request *collector.ExportProfilesServiceRequest) error {
	c := check{request.Dictionary}
	if c.d == nil {
		return fmt.Errorf("no dictionary")
	}
	if err := c.tables(); err != nil {
		return err
	}
	for _, r := range request.ResourceProfiles {
		var resource []string
		for _, a := range r.Resource.GetAttributes() {
			resource = append(resource, a.Key+"="+text(a.Value))
		}
		sort.Strings(resource)
		for _, s := range r.ScopeProfiles {
			for _, p := range s.Profiles {
				if err := c.profile(p); err != nil {
					return err
				}
				name := c.d.StringTable
				fmt.Printf("profile %s:%s:%s:%s {%s} scope=%s period=%d duration=%d\n", name[p.SampleType.TypeStrindex],
					name[p.SampleType.UnitStrindex], name[p.PeriodType.GetTypeStrindex()], name[p.PeriodType.GetUnitStrindex()],
					strings.Join(resource, ","), s.Scope.GetName(), p.Period, p.DurationNano)
				for _, sample := range p.Samples {
					fmt.Printf("sample %d %s {%s}\n", sample.Values[0], c.frames(sample), c.attributes(sample.AttributeIndices))
				}
			}
		}
	}
	return nil
}

// ---- the answers ----

func handOn(request *collector.ExportProfilesServiceRequest) error {
	if forward == "" {
		return nil
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequest("POST", forward+"/v1development/profiles", bytes.NewReader(b))
	if err != nil {
		return err
	}
	post.Header.Set("Content-Type", "application/x-protobuf")
	post.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	answer, err := client.Do(post)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	words, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != 200 {
		return fmt.Errorf("%s: %q", answer.Status, words)
	}
	fmt.Printf("handed on %q\n", words)
	return nil
}

// The response, or the status as a number (gRPC's or HTTP's) with its words.
func take(request *collector.ExportProfilesServiceRequest, broken, unavailable string) (*collector.ExportProfilesServiceResponse, string, string) {
	wish := wishes(request)
	if number, due := isDue("refuse"+wish["service.name"], wish["refuse"]); due {
		return nil, number, "refused: 100 % of \"it\"\n"
	}
	if err := show(request); err != nil {
		fmt.Println("broken:", err)
		return nil, broken, err.Error()
	}
	if err := handOn(request); err != nil {
		fmt.Println("not handed on:", err)
		return nil, unavailable, err.Error()
	}
	if _, due := isDue("lose"+wish["service.name"], limited(wish["lose"])); due {
		return nil, unavailable, "it was taken"
	}
	response := &collector.ExportProfilesServiceResponse{}
	if wish["partial"] != "" {
		response.PartialSuccess = &collector.ExportProfilesPartialSuccess{RejectedProfiles: 1, ErrorMessage: wish["partial"]}
	} else if wish["warn"] != "" {
		response.PartialSuccess = &collector.ExportProfilesPartialSuccess{ErrorMessage: wish["warn"]}
	}
	return response, "", ""
}

type service struct {
	collector.UnimplementedProfilesServiceServer
}

func (service) Export(ctx context.Context, request *collector.ExportProfilesServiceRequest) (*collector.ExportProfilesServiceResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	fmt.Printf("by grpc version=%v authorization=%v\n", md.Get("otlp-profiles-development-version"), md.Get("authorization"))
	response, number, words := take(request, "3", "14")
	if number == "" {
		return response, nil
	}
	code, _ := strconv.Atoi(strings.TrimSuffix(number, "r"))
	s := status.New(codes.Code(code), words)
	if strings.HasSuffix(number, "r") {
		s, _ = s.WithDetails(&errdetails.DebugInfo{Detail: "x"}, &errdetails.RetryInfo{RetryDelay: durationpb.New(300 * time.Millisecond)})
	}
	return nil, s.Err()
}

func post(w http.ResponseWriter, q *http.Request) {
	body := io.Reader(q.Body)
	fmt.Printf("by http %s version=%v packed=%v type=%v\n", q.URL.Path, q.Header["Otlp-Profiles-Development-Version"],
		q.Header["Content-Encoding"], q.Header["Content-Type"])
	if q.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(q.Body)
	}
	b, err := io.ReadAll(body)
	request := &collector.ExportProfilesServiceRequest{}
	if err == nil {
		err = proto.Unmarshal(b, request)
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	if err != nil {
		fmt.Println("broken:", err)
		w.WriteHeader(400)
		return
	}
	response, number, words := take(request, "400", "503")
	if number == "" {
		b, _ = proto.Marshal(response)
	} else {
		b, _ = proto.Marshal(status.New(codes.Unknown, words).Proto())
		code, _ := strconv.Atoi(number)
		w.WriteHeader(code)
	}
	w.Write(b)
}

// Of gRPC's messages only this is told how they came.
type packing struct{}

func (packing) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (packing) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (packing) HandleConn(context.Context, stats.ConnStats)                       {}
func (packing) HandleRPC(_ context.Context, s stats.RPCStats) {
	if head, ok := s.(*stats.InHeader); ok {
		fmt.Printf("grpc packed=%s\n", head.Compression)
	}
}

func listen(kind string) net.Listener {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(kind, l.Addr())
	return l
}

func main() {
	if len(os.Args) > 1 {
		forward = os.Args[1]
	}
	server := grpc.NewServer(grpc.StatsHandler(packing{}))
	collector.RegisterProfilesServiceServer(server, service{})
	go http.Serve(listen("http"), http.HandlerFunc(post))
	server.Serve(listen("grpc"))
}
