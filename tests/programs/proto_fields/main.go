// SPDX-License-Identifier: Apache-2.0

// Writes the methods of a service of gRPC, and every field that its calls can hold, a line each, sorted: as the published modules
// have them, or as a FileDescriptorSet does.
//
//	proto_fields SERVICE [SET]
package main

import (
	"fmt"
	"os"
	"sort"

	_ "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	_ "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	_ "google.golang.org/grpc/health/grpc_health_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1"
	_ "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
)

var lines []string
var seen = map[protoreflect.FullName]bool{}

func say(m protoreflect.MessageDescriptor) {
	if seen[m.FullName()] {
		return
	}
	seen[m.FullName()] = true
	for i := 0; i < m.Fields().Len(); i++ {
		f := m.Fields().Get(i)
		of, oneof := "", ""
		if f.Message() != nil {
			of = string(f.Message().FullName())
			say(f.Message())
		}
		if f.Enum() != nil {
			of = string(f.Enum().FullName())
			values := f.Enum().Values()
			for k := 0; k < values.Len(); k++ {
				lines = append(lines, fmt.Sprint(values.Get(k).FullName(), " ", values.Get(k).Number()))
			}
		}
		if f.ContainingOneof() != nil {
			oneof = string(f.ContainingOneof().Name())
		}
		lines = append(lines, fmt.Sprint(f.FullName(), " ", f.Number(), " ", f.Cardinality(), " ", f.Kind(), " ", of, " ", oneof, " ", f.IsPacked(), " ", f.ParentFile().Path()))
	}
}

func files(set string) (*protoregistry.Files, error) {
	data, err := os.ReadFile(set)
	all := &descriptorpb.FileDescriptorSet{}
	if err == nil {
		err = proto.Unmarshal(data, all)
	}
	if err != nil {
		return nil, err
	}
	return protodesc.NewFiles(all)
}

func main() {
	all, err := protoregistry.GlobalFiles, error(nil)
	if len(os.Args) > 2 {
		all, err = files(os.Args[2])
	}
	if err != nil {
		panic(err)
	}
	d, err := all.FindDescriptorByName(protoreflect.FullName(os.Args[1]))
	if err != nil {
		panic(err)
	}
	methods := d.(protoreflect.ServiceDescriptor).Methods()
	for i := 0; i < methods.Len(); i++ {
		m := methods.Get(i)
		lines = append(lines, fmt.Sprint(m.FullName(), " ", m.Input().FullName(), " ", m.Output().FullName(), " ", m.IsStreamingClient(), " ", m.IsStreamingServer()))
		say(m.Input())
		say(m.Output())
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}
