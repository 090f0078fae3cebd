// SPDX-License-Identifier: Apache-2.0

// Writes an ExportProfilesServiceRequest, which stands as JSON on its standard input, to its standard output as protobuf: in
// the version of OTLP that the module it is built with has. VERSION.json is such a request, and VERSION.mod a module, for each.
package main

import (
	"io"
	"log"
	"os"

	profiles "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		log.Fatal(err)
	}
	request := &profiles.ExportProfilesServiceRequest{}
	if err := protojson.Unmarshal(text, request); err != nil {
		log.Fatal(err)
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := os.Stdout.Write(bytes); err != nil {
		log.Fatal(err)
	}
}
