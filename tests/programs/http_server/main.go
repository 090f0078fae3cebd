// SPDX-License-Identifier: Apache-2.0
//
// tests/programs/http_server/main.go - a server that behaves well and badly, for tests of HTTP clients
//
//	http_server DIR
//
// Writes its certificates into DIR, says "NAME PORT" for each port it listens on, then "ready", and ends with its
// standard input. What a path does is said at its handler.
package main

import (
	"bufio"
	"compress/gzip"
	"compress/zlib"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"sync/atomic"
	"time"
)

var (
	connections atomic.Int64 // accepted
	open        atomic.Int64
	tokens      atomic.Int64 // handed out; the last one is the one that holds
	connects    atomic.Int64 // through the proxy
	lastConnect atomic.Value // its headers
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func number(r *http.Request, name string, otherwise int) int {
	n, err := strconv.Atoi(r.URL.Query().Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

// The request as text: method, protocol, host, then headers and body.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %s\n", r.Method, r.Proto, r.Host, r.URL)
	if r.TLS != nil {
		fmt.Fprintf(w, "tls %x name=%s certs=%d\n", r.TLS.Version, r.TLS.ServerName, len(r.TLS.PeerCertificates))
		if len(r.TLS.PeerCertificates) > 0 {
			fmt.Fprintf(w, "client %s\n", r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}
	var names []string
	for name := range r.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, value := range r.Header[name] {
			fmt.Fprintf(w, "%s: %s\n", name, value)
		}
	}
	fmt.Fprintf(w, "body %s\n", body)
}

// n bytes, with the status code.
func size(w http.ResponseWriter, r *http.Request) {
	n := number(r, "n", 0)
	w.Header().Set("Content-Length", strconv.Itoa(n))
	w.WriteHeader(number(r, "code", 200))
	chunk := make([]byte, 32<<10)
	for i := range chunk {
		chunk[i] = byte('a' + i%26)
	}
	for n > 0 {
		k := min(n, len(chunk))
		if _, err := w.Write(chunk[:k]); err != nil {
			return
		}
		n -= k
	}
}

// n zero bytes, packed.
func packed(w http.ResponseWriter, r *http.Request) {
	var out io.WriteCloser
	if r.URL.Path == "/gzip" {
		w.Header().Set("Content-Encoding", "gzip")
		out = gzip.NewWriter(w)
	} else {
		w.Header().Set("Content-Encoding", "deflate")
		out = zlib.NewWriter(w)
	}
	zeros := make([]byte, 64<<10)
	for n := number(r, "n", 0); n > 0; n -= len(zeros) {
		if _, err := out.Write(zeros[:min(n, len(zeros))]); err != nil {
			return
		}
	}
	out.Close()
}

func hang(w http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
}

func hangInBody(w http.ResponseWriter, r *http.Request) {
	io.WriteString(w, "begun")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// n pieces of 10 bytes, each ms after the other; n=0: without end.
func slow(w http.ResponseWriter, r *http.Request) {
	n, ms := number(r, "n", 0), number(r, "ms", 10)
	for i := 0; n == 0 || i < n; i++ {
		if _, err := io.WriteString(w, "0123456789"); err != nil {
			return
		}
		w.(http.Flusher).Flush()
		select {
		case <-time.After(time.Duration(ms) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	chunk := make([]byte, 64<<10)
	for {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
}

// As many lines of headers as n says, of as many bytes as size says; with early, each as an answer of 103 before the answer.
func headers(w http.ResponseWriter, r *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	check(err)
	defer c.Close()
	line := "X-Line: " + strings.Repeat("x", number(r, "size", 10)) + "\r\n"
	early := r.URL.Query().Has("early")
	if !early {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")
	}
	for i := 0; i < number(r, "n", 1); i++ {
		if early {
			_, err = io.WriteString(c, "HTTP/1.1 103 Early Hints\r\n"+line+"\r\n")
		} else {
			_, err = io.WriteString(c, line)
		}
		if err != nil {
			return
		}
	}
	if early {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n")
	}
	io.WriteString(c, "\r\nok")
}

// Says 1000 bytes and sends 10, or nothing at all.
func truncated(w http.ResponseWriter, r *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	check(err)
	if r.URL.Path == "/truncated" {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789")
	}
	if r.URL.Path == "/garbage" {
		io.WriteString(c, "SSH-2.0-what are you\r\n\r\n")
	}
	c.Close()
}

func redirect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Location", r.URL.Query().Get("to"))
	w.WriteHeader(number(r, "code", 302))
	io.WriteString(w, "elsewhere")
}

func needsBasic(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	if user != "user" || password != "pass:word" {
		http.Error(w, "who?", 401)
		return
	}
	io.WriteString(w, "in")
}

// A token by client credentials; /token-form wants the secret in the form.
func token(w http.ResponseWriter, r *http.Request) {
	id, secret, isBasic := r.BasicAuth()
	if r.URL.Path == "/token-form" {
		if isBasic {
			http.Error(w, `{"error":"invalid_request"}`, 400)
			return
		}
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if r.URL.Path == "/token-slow" {
		time.Sleep(300 * time.Millisecond)
	}
	// Escaped, as RFC 6749 has it.
	if id != "me" || (secret != "s%26cret" && secret != "s&cret") || r.PostFormValue("grant_type") != "client_credentials" {
		w.WriteHeader(401)
		io.WriteString(w, `{"error":"invalid_client","error_description":"no such client"}`)
		return
	}
	if scope := r.PostFormValue("scope"); scope != "a b" && scope != "" {
		http.Error(w, `{"error":"invalid_scope"}`, 400)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":%d}`, tokens.Add(1), number(r, "life", 3600))
}

func needsToken(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != fmt.Sprintf("Bearer token-%d", tokens.Load()) {
		http.Error(w, "no such token", 401)
		return
	}
	io.WriteString(w, "in "+r.Header.Get("Authorization"))
}

func handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", echo)
	mux.HandleFunc("/size", size)
	mux.HandleFunc("/gzip", packed)
	mux.HandleFunc("/deflate", packed)
	mux.HandleFunc("/hang", hang)
	mux.HandleFunc("/hangbody", hangInBody)
	mux.HandleFunc("/slow", slow)
	mux.HandleFunc("/endless", endless)
	mux.HandleFunc("/headers", headers)
	mux.HandleFunc("/truncated", truncated)
	mux.HandleFunc("/garbage", truncated)
	mux.HandleFunc("/nothing", truncated)
	mux.HandleFunc("/redirect", redirect)
	mux.HandleFunc("/circle", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/circle", 302) })
	mux.HandleFunc("/status", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("X-Twice", "one")
		w.Header().Add("X-Twice", "two")
		w.WriteHeader(number(r, "code", 200))
		fmt.Fprintf(w, "status %d", number(r, "code", 200))
	})
	mux.HandleFunc("/basic", needsBasic)
	mux.HandleFunc("/token", token)
	mux.HandleFunc("/token-form", token)
	mux.HandleFunc("/token-slow", token)
	mux.HandleFunc("/token-none", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") })
	mux.HandleFunc("/guarded", needsToken)
	mux.HandleFunc("/revoke", func(w http.ResponseWriter, r *http.Request) { tokens.Add(1) })
	mux.HandleFunc("/counts", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "connections %d open %d tokens %d connects %d %v\n", connections.Load(), open.Load(), tokens.Load(),
			connects.Load(), lastConnect.Load())
	})
	return mux
}

func count(c net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		connections.Add(1)
		open.Add(1)
	case http.StateClosed, http.StateHijacked:
		open.Add(-1)
	}
}

// A proxy: CONNECT, and requests for http://.
func proxy(w http.ResponseWriter, r *http.Request) {
	lastConnect.Store(fmt.Sprint(r.Method, " ", r.Host, " X-Proxy=", r.Header["X-Proxy"], " auth=", r.Header["Proxy-Authorization"]))
	connects.Add(1)
	if r.Method != http.MethodConnect {
		r.RequestURI = ""
		r.Header.Set("X-Came-By", "proxy")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), 502)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		io.Copy(w, answer.Body)
		return
	}
	to, err := net.Dial("tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), 502)
		return
	}
	from, _, err := w.(http.Hijacker).Hijack()
	check(err)
	io.WriteString(from, "HTTP/1.1 200 Connected\r\n\r\n")
	go func() {
		io.Copy(to, from)
		to.(*net.TCPConn).CloseWrite()
	}()
	io.Copy(from, to)
	from.Close()
}

// ---- certificates ----

type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

var serial int64

func (p *pair) tls() tls.Certificate {
	return tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key}
}

// By itself when by is nil.
func issue(by *pair, name string, days int, names ...string) *pair {
	serial++
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	t := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().AddDate(0, 0, -30), NotAfter: time.Now().AddDate(0, 0, days),
		KeyUsage: x509.KeyUsageDigitalSignature, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, n := range names {
		if ip := net.ParseIP(n); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, n)
		}
	}
	parent, signer := t, key
	if by != nil {
		parent, signer = by.cert, by.key
	} else {
		t.IsCA = true
		t.KeyUsage |= x509.KeyUsageCertSign
	}
	raw, err := x509.CreateCertificate(rand.Reader, t, parent, &key.PublicKey, signer)
	check(err)
	cert, err := x509.ParseCertificate(raw)
	check(err)
	return &pair{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}
}

func (p *pair) write(dir, name string) {
	raw, err := x509.MarshalPKCS8PrivateKey(p.key)
	check(err)
	check(os.WriteFile(filepath.Join(dir, name+".pem"), p.pem, 0600))
	check(os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0600))
}

func serve(name string, h http.Handler, config *tls.Config) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	s := &http.Server{Handler: h, TLSConfig: config, ConnState: count, ErrorLog: log.New(io.Discard, "", 0)}
	if strings.HasPrefix(name, "proxy") {
		s.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
		s.ConnState = nil
	}
	fmt.Println(name, l.Addr().(*net.TCPAddr).Port)
	if config != nil {
		go s.ServeTLS(l, "", "")
	} else {
		go s.Serve(l)
	}
}

func main() {
	dir := os.Args[1]
	lastConnect.Store("")
	ca, otherCA := issue(nil, "ca", 100), issue(nil, "other ca", 100)
	local := []string{"localhost", "127.0.0.1"}
	good := issue(ca, "good", 100, local...)
	ca.write(dir, "ca")
	otherCA.write(dir, "other_ca")
	issue(ca, "client", 100).write(dir, "client")
	issue(ca, "second", 100).write(dir, "second")
	issue(otherCA, "stranger", 100).write(dir, "stranger")
	issue(ca, "late", -1).write(dir, "late")

	h := handler()
	with := func(p *pair) *tls.Config { return &tls.Config{Certificates: []tls.Certificate{p.tls()}} }
	serve("http", h, nil)
	serve("http2", h, nil)
	serve("https", h, with(good))
	serve("expired", h, with(issue(ca, "expired", -1, local...)))
	serve("selfsigned", h, with(issue(nil, "self", 100, local...)))
	serve("wrongname", h, with(issue(ca, "wrong", 100, "special.name")))
	old := with(good)
	old.MaxVersion = tls.VersionTLS12
	serve("tls12", h, old)
	ancient := with(good)
	ancient.MinVersion, ancient.MaxVersion = tls.VersionTLS10, tls.VersionTLS10
	serve("tls10", h, ancient)
	new := with(good)
	new.MinVersion = tls.VersionTLS13
	serve("tls13", h, new)
	mutual := with(good)
	mutual.ClientAuth = tls.RequireAndVerifyClientCert
	mutual.ClientCAs = x509.NewCertPool()
	mutual.ClientCAs.AddCert(ca.cert)
	serve("mutual", h, mutual)
	serve("proxy", http.HandlerFunc(proxy), nil)
	serve("proxytls", http.HandlerFunc(proxy), with(good))
	unix, err := net.Listen("unix", filepath.Join(dir, "socket"))
	check(err)
	go http.Serve(unix, h)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println("closed", closed.Addr().(*net.TCPAddr).Port)
	closed.Close()
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString(0)
}
