// SPDX-License-Identifier: Apache-2.0

// Writes every field that a call of OTLP's ProfilesService can hold, a line each, sorted: as the module it is built with has
// them, or as a FileDescriptorSet does whose file is named.
package main

import (
	"fmt"
	"os"
	"sort"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
)

const service = "opentelemetry.proto.collector.profiles.v1development.ProfilesService"

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
		}
		if f.ContainingOneof() != nil {
			oneof = string(f.ContainingOneof().Name())
		}
		lines = append(lines, fmt.Sprint(f.FullName(), " ", f.Number(), " ", f.Cardinality(), " ", f.Kind(), " ", of, " ", oneof, " ", f.IsPacked(), " ", f.ParentFile().Path()))
	}
}

func found(set string) protoreflect.ServiceDescriptor {
	if set == "" {
		return collector.File_opentelemetry_proto_collector_profiles_v1development_profiles_service_proto.Services().ByName("ProfilesService")
	}
	data, err := os.ReadFile(set)
	all := &descriptorpb.FileDescriptorSet{}
	if err == nil {
		err = proto.Unmarshal(data, all)
	}
	if err != nil {
		panic(err)
	}
	files, err := protodesc.NewFiles(all)
	if err != nil {
		panic(err)
	}
	d, err := files.FindDescriptorByName(service)
	if err != nil {
		panic(err)
	}
	return d.(protoreflect.ServiceDescriptor)
}

func main() {
	set := ""
	if len(os.Args) > 1 {
		set = os.Args[1]
	}
	methods := found(set).Methods()
	for i := 0; i < methods.Len(); i++ {
		m := methods.Get(i)
		lines = append(lines, fmt.Sprint(m.FullName(), " ", m.Input().FullName(), " ", m.Output().FullName()))
		say(m.Input())
		say(m.Output())
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}
