// SPDX-License-Identifier: Apache-2.0

// tests/programs/debuginfo_server/main.go - Parca's debuginfo service over grpc-go, which decima is a client of
//
//	debuginfo_server DIR [CERT KEY]
//	debuginfo_server send ADDRESS BUILD_ID FILE
//
// Prints the port. What is uploaded becomes DIR/BUILD_ID once it is marked as finished, and each call a line of
// standard error. DIR/busy has how many streams are turned away first; DIR/signed has uploads go elsewhere, with
// DIR/puts to a URL that takes them. Messages are
// taken apart by protobuf's own wire package: the module with Parca's stubs is a large one.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

const service = "/parca.debuginfo.v1alpha1.DebuginfoService/"

// raw hands messages on as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (raw) Name() string { return "proto" }

// fields of a message: numbers as decimal text, the last of each.
func fields(b []byte) (map[protowire.Number]string, error) {
	got := map[protowire.Number]string{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		switch kind {
		case protowire.VarintType:
			v, m := protowire.ConsumeVarint(b)
			n = m
			got[number] = strconv.FormatUint(v, 10)
		case protowire.BytesType:
			v, m := protowire.ConsumeBytes(b)
			n = m
			got[number] = string(v)
		default:
			return nil, fmt.Errorf("field %d has type %d", number, kind)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
	}
	return got, nil
}

func text(b []byte, number protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
}

func varint(b []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}

type begun struct {
	size, id string
	data     []byte
}

type server struct {
	dir  string
	lock sync.Mutex
	ups  map[string]*begun
	n    int
	puts string // where signed URLs lead
}

func (s *server) has(name string) bool {
	_, err := os.Stat(filepath.Join(s.dir, name))
	return err == nil
}

func (s *server) should(m map[protowire.Number]string) []byte {
	if s.has(m[1]) && m[3] != "1" {
		return text(nil, 2, "Debuginfo already exists and is not marked as invalid, therefore no new upload is needed.")
	}
	return text(varint(nil, 1, 1), 2, "First time we see this Build ID, and it does not exist in debuginfod, therefore please upload!")
}

func (s *server) initiate(m map[protowire.Number]string) ([]byte, error) {
	if m[3] == "" || m[2] == "" || m[2] == "0" {
		return nil, status.Error(codes.InvalidArgument, "no hash, or no size")
	}
	s.n++
	id := fmt.Sprintf("upload-%d", s.n)
	s.ups[m[1]] = &begun{size: m[2], id: id}
	how := text(text(nil, 1, m[1]), 2, id)
	if !s.has("signed") {
		return text(nil, 1, string(varint(how, 3, 1))), nil
	}
	how = varint(how, 3, 2)
	if s.has("puts") {
		how = text(how, 4, s.puts+"/"+m[1]+"?signature=x")
	}
	return text(nil, 1, string(how)), nil
}

// turned says whether a stream is to be turned away.
func (s *server) turned() bool {
	b, _ := os.ReadFile(filepath.Join(s.dir, "busy"))
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	if n > 0 {
		os.WriteFile(filepath.Join(s.dir, "busy"), []byte(strconv.Itoa(n-1)), 0o644)
	}
	return n > 0
}

func (s *server) upload(stream grpc.ServerStream, first map[protowire.Number]string) ([]byte, error) {
	info, err := fields([]byte(first[1]))
	if err != nil || first[1] == "" {
		return nil, status.Error(codes.InvalidArgument, "the first message has no info")
	}
	var data []byte
	for {
		var b []byte
		if stream.RecvMsg(&b) != nil {
			break
		}
		m, err := fields(b)
		if err != nil || len(m) != 1 {
			return nil, status.Error(codes.InvalidArgument, "a message that is no chunk")
		}
		data = append(data, m[2]...)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	up := s.ups[info[1]]
	if up == nil || up.id != info[2] || strconv.Itoa(len(data)) != up.size {
		return nil, status.Errorf(codes.InvalidArgument, "%d bytes of upload %s", len(data), info[2])
	}
	up.data = data
	return varint(text(nil, 1, info[1]), 2, uint64(len(data))), nil
}

func (s *server) unary(method string, m map[protowire.Number]string) ([]byte, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	switch method {
	case "ShouldInitiateUpload":
		return s.should(m), nil
	case "InitiateUpload":
		return s.initiate(m)
	case "WriteRaw":
		return nil, nil
	case "MarkUploadFinished":
		up := s.ups[m[1]]
		if up == nil || up.id != m[2] || up.data == nil {
			return nil, status.Error(codes.NotFound, "no such upload")
		}
		return nil, os.WriteFile(filepath.Join(s.dir, m[1]), up.data, 0o644)
	}
	return nil, status.Error(codes.Unimplemented, method)
}

// put takes what goes to a signed URL; who sends credentials along is told.
func (s *server) put(w http.ResponseWriter, r *http.Request) {
	log.Print(r.Method, r.Header.Get("Authorization"))
	data, err := io.ReadAll(r.Body)
	s.lock.Lock()
	defer s.lock.Unlock()
	up := s.ups[strings.TrimPrefix(r.URL.Path, "/")]
	if err != nil || r.URL.RawQuery != "signature=x" || up == nil || strconv.Itoa(len(data)) != up.size {
		http.Error(w, "no", http.StatusForbidden)
		return
	}
	up.data = data
}

// send is the client: a file to ADDRESS, in messages that are packed by gzip.
func send(address, id, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.UseCompressor(gzip.Name)))
	if err != nil {
		return err
	}
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer letmein")
	ask := func(method string, b []byte) (map[protowire.Number]string, error) {
		var answer []byte
		if err := conn.Invoke(ctx, service+method, &b, &answer); err != nil {
			return nil, err
		}
		return fields(answer)
	}
	m, err := ask("InitiateUpload", text(varint(text(nil, 1, id), 2, uint64(len(data))), 3, "hash"))
	if err != nil {
		return err
	}
	how, err := fields([]byte(m[1]))
	if err != nil {
		return err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, service+"Upload")
	if err != nil {
		return err
	}
	b := text(nil, 1, string(text(text(nil, 1, id), 2, how[2])))
	for {
		if err := stream.SendMsg(&b); err != nil || len(data) == 0 {
			break
		}
		n := min(len(data), 70000)
		b, data = text(nil, 2, string(data[:n])), data[n:]
	}
	stream.CloseSend()
	if err := stream.RecvMsg(&b); err != nil {
		return err
	}
	_, err = ask("MarkUploadFinished", text(text(nil, 1, id), 2, how[2]))
	return err
}

func (s *server) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	method := full[strings.LastIndex(full, "/")+1:]
	var b []byte
	if err := stream.RecvMsg(&b); err != nil {
		return err
	}
	m, err := fields(b)
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	log.Print(method)
	var answer []byte
	if method == "Upload" {
		if s.turned() {
			return status.Error(codes.Unavailable, "100 % busy\nfor a moment")
		}
		answer, err = s.upload(stream, m)
	} else {
		answer, err = s.unary(method, m)
	}
	if err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

func main() {
	log.SetFlags(0)
	if len(os.Args) == 5 && os.Args[1] == "send" {
		if err := send(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			log.Fatal(err)
		}
		return
	}
	s := &server{dir: os.Args[1], ups: map[string]*begun{}}
	options := []grpc.ServerOption{grpc.UnknownServiceHandler(s.handle), grpc.ForceServerCodec(raw{})}
	if len(os.Args) > 3 {
		tls, err := credentials.NewServerTLSFromFile(os.Args[2], os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		options = append(options, grpc.Creds(tls))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	puts, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	s.puts = "http://" + puts.Addr().String()
	go http.Serve(puts, http.HandlerFunc(s.put))
	log.Fatal(grpc.NewServer(options...).Serve(listener))
}
