// SPDX-License-Identifier: Apache-2.0
// A server of Parca's WriteRaw by grpc-go: reads messages by the descriptors of the published .proto, profiles by
// github.com/google/pprof, and prints a line for each profile. What it is told to refuse it refuses.
//
//	parca_store DESCRIPTORS        a FileDescriptorSet of protoc; prints the address first
//
// A series with the label refuse=NUMBER[:TIMES] is answered with that status of gRPC, so many times (always without).
// A series with a label whose name is not [a-zA-Z_][a-zA-Z0-9_]*, or there twice, is refused, as by Parca.
package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/google/pprof/profile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

const method = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw"

var (
	lock    sync.Mutex
	refused = map[string]int{}
)

func field(m protoreflect.Message, name string) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(name)))
}

func labelsOf(series protoreflect.Message) (name string, rest []string) {
	list := field(field(series, "labels").Message(), "labels").List()
	for i := 0; i < list.Len(); i++ {
		n, v := field(list.Get(i).Message(), "name").String(), field(list.Get(i).Message(), "value").String()
		if n == "__name__" {
			name = v
		} else {
			rest = append(rest, n+"="+v)
		}
	}
	sort.Strings(rest)
	return
}

var labelName = regexp.MustCompile("^[a-zA-Z_][a-zA-Z0-9_]*$")

// As Parca: pkg/normalizer.
func checkNames(labels []string) error {
	seen := map[string]bool{}
	for _, l := range labels {
		name, _, _ := strings.Cut(l, "=")
		if !labelName.MatchString(name) {
			return status.Errorf(codes.InvalidArgument, "invalid label name: %v", name)
		}
		if seen[name] {
			return status.Errorf(codes.InvalidArgument, "duplicate label name: %v", name)
		}
		seen[name] = true
	}
	return nil
}

func refusal(labels []string) error {
	for _, l := range labels {
		text, ok := strings.CutPrefix(l, "refuse=")
		if !ok {
			continue
		}
		number, times, limited := strings.Cut(text, ":")
		code, _ := strconv.Atoi(number)
		limit, _ := strconv.Atoi(times)
		lock.Lock()
		defer lock.Unlock()
		refused[text]++
		if !limited || refused[text] <= limit {
			return status.Error(codes.Code(code), "refused: 100 % of \"it\"\n")
		}
	}
	return nil
}

func show(name string, labels []string, raw []byte) error {
	p, err := profile.ParseData(raw)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "no pprof: %v", err)
	}
	if err := p.CheckValid(); err != nil {
		return status.Errorf(codes.InvalidArgument, "not valid: %v", err)
	}
	for i, t := range p.SampleType {
		var sum int64
		stacks := map[string]bool{}
		for _, s := range p.Sample {
			sum += s.Value[i]
			var b bytes.Buffer
			for _, l := range s.Location {
				for _, line := range l.Line {
					b.WriteString(line.Function.Name + ";")
				}
			}
			stacks[b.String()] = true
		}
		fmt.Printf("%s:%s:%s:%s:%s{%s} sum=%d stacks=%d duration=%d\n", name, t.Type, t.Unit, p.PeriodType.Type, p.PeriodType.Unit,
			strings.Join(labels, ","), sum, len(stacks), p.DurationNanos)
	}
	return nil
}

func write(request protoreflect.Message) error {
	list := field(request, "series").List()
	for i := 0; i < list.Len(); i++ {
		name, labels := labelsOf(list.Get(i).Message())
		if err := refusal(labels); err != nil {
			return err
		}
		if err := checkNames(labels); err != nil {
			return err
		}
		samples := field(list.Get(i).Message(), "samples").List()
		for k := 0; k < samples.Len(); k++ {
			if err := show(name, labels, field(samples.Get(k).Message(), "raw_profile").Bytes()); err != nil {
				return err
			}
		}
	}
	return nil
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	bytes, err := os.ReadFile(os.Args[1])
	must(err)
	var set descriptorpb.FileDescriptorSet
	must(proto.Unmarshal(bytes, &set))
	files, err := protodesc.NewFiles(&set)
	must(err)
	d, err := files.FindDescriptorByName("parca.profilestore.v1alpha1.ProfileStoreService.WriteRaw")
	must(err)
	call := d.(protoreflect.MethodDescriptor)
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if name, _ := grpc.MethodFromServerStream(stream); name != method {
			return status.Errorf(codes.Unimplemented, "no %s here", name)
		}
		if md, _ := metadata.FromIncomingContext(stream.Context()); len(md.Get("authorization")) > 0 {
			fmt.Println("authorization:", md.Get("authorization")[0])
		}
		request := dynamicpb.NewMessage(call.Input())
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		if err := write(request); err != nil {
			return err
		}
		return stream.SendMsg(dynamicpb.NewMessage(call.Output()))
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	fmt.Println("at", l.Addr())
	must(server.Serve(l))
}
