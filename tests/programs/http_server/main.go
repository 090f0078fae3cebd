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
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
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
	"sync"
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

// The keys of /token-jwt: of clients that it knows.
var signers = map[string]*rsa.PrivateKey{}

// What the JWT says, if it is signed by the key and in the way that its own head names (RFC 7515, RFC 7518 3.3).
func verified(jwt string) (head, claims map[string]any, err error) {
	parts := strings.Split(jwt, ".")
	if len(parts) != 3 {
		return nil, nil, fmt.Errorf("%d parts", len(parts))
	}
	var raw [3][]byte
	for i, part := range parts {
		if raw[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return nil, nil, err
		}
	}
	if err = json.Unmarshal(raw[0], &head); err == nil {
		err = json.Unmarshal(raw[1], &claims)
	}
	if err != nil {
		return nil, nil, err
	}
	hash, ok := map[any]crypto.Hash{"RS256": crypto.SHA256, "RS384": crypto.SHA384, "RS512": crypto.SHA512}[head["alg"]]
	key := signers[fmt.Sprint(claims["sub"])]
	if !ok || key == nil || head["typ"] != "JWT" {
		return nil, nil, fmt.Errorf("signed by %v with %v", claims["sub"], head)
	}
	digest := hash.New()
	io.WriteString(digest, parts[0]+"."+parts[1])
	return head, claims, rsa.VerifyPKCS1v15(&key.PublicKey, hash, digest.Sum(nil), raw[2])
}

var seen sync.Map // ids of JWTs

// A token by a JWT (RFC 7523, 2.1 and 3); it ends with what was said.
func tokenByJWT(w http.ResponseWriter, r *http.Request) {
	_, _, isBasic := r.BasicAuth()
	head, claims, err := verified(r.PostFormValue("assertion"))
	now := float64(time.Now().Unix())
	id, _ := claims["jti"].(string)
	begin, _ := claims["iat"].(float64)
	end, _ := claims["exp"].(float64)
	switch _, again := seen.LoadOrStore(id, true); {
	case err != nil:
	case isBasic || r.PostFormValue("client_id") != "" || r.PostFormValue("client_secret") != "":
		err = fmt.Errorf("it shows two things")
	case r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer":
		err = fmt.Errorf("grant_type %s", r.PostFormValue("grant_type"))
	case id == "" || again:
		err = fmt.Errorf("jti %q came before", id)
	case begin < now-60 || begin > now+60 || end <= now || end > now+3600:
		err = fmt.Errorf("from %v to %v, and it is %v", begin, end, now)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(401)
		json.NewEncoder(w).Encode(map[string]string{"error": "invalid_grant", "error_description": err.Error()})
		return
	}
	delete(claims, "jti")
	delete(claims, "iat")
	delete(claims, "exp")
	said, _ := json.Marshal(map[string]any{"head": head, "claims": claims, "scope": r.PostFormValue("scope")})
	statements.Store(strings.ReplaceAll(string(said), r.Host, "HOST"))
	fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":3600}`, tokens.Add(1))
}

var statements atomic.Value // the last one

// A key of a client that /token-jwt knows by that name, as NAME.rsa.
func signer(dir, name string) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	check(err)
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	check(err)
	check(os.WriteFile(filepath.Join(dir, name+".rsa"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0600))
	signers[name] = key
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
	mux.HandleFunc("/token-jwt", tokenByJWT)
	mux.HandleFunc("/statement", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, statements.Load()) })
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

	signer(dir, "me")
	signer(dir, "you")

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
