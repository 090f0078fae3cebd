// SPDX-License-Identifier: Apache-2.0

// Takes OTLP over HTTP, reads it with the module that it is built with, whichever version that is of, and hands on what that writes.
//
//	otlp_relay URL
//
// Says "http ADDRESS", then "read" for each request that has no field unknown to the module, else "broken ..".
package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	collector "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// The first message in it with fields that the module does not know; "": none.
func unknown(m protoreflect.Message) (where string) {
	if len(m.GetUnknown()) > 0 {
		return string(m.Descriptor().FullName())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil || f.IsMap():
		case f.IsList():
			for i := 0; i < v.List().Len() && where == ""; i++ {
				where = unknown(v.List().Get(i).Message())
			}
		default:
			where = unknown(v.Message())
		}
		return where == ""
	})
	return where
}

func handOn(body []byte) (int, error) {
	request := &collector.ExportProfilesServiceRequest{}
	if err := proto.Unmarshal(body, request); err != nil {
		return 400, err
	}
	if where := unknown(request.ProtoReflect()); where != "" {
		return 400, fmt.Errorf("%s has fields that this version does not know", where)
	}
	again, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
	if err != nil {
		return 500, err
	}
	post, err := http.NewRequest("POST", os.Args[1]+"/v1development/profiles", bytes.NewReader(again))
	if err != nil {
		return 500, err
	}
	post.Header.Set("Content-Type", "application/x-protobuf")
	post.Header.Set("Authorization", "Bearer "+os.Getenv("TOKEN"))
	answer, err := client.Do(post)
	if err != nil {
		return 502, err
	}
	answer.Body.Close()
	if answer.StatusCode != 200 {
		return 502, fmt.Errorf("%s", answer.Status)
	}
	return 200, nil
}

func take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	status := 400
	if err == nil {
		status, err = handOn(body)
	}
	if err != nil {
		fmt.Println("broken", err)
	} else {
		fmt.Println("read")
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(status)
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("http", l.Addr())
	log.Fatal(http.Serve(l, http.HandlerFunc(take)))
}
