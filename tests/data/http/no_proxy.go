// SPDX-License-Identifier: Apache-2.0
//
// tests/data/http/no_proxy.go - which hosts Go reaches without a proxy, for tests/unit/test_no_proxy.c to compare with
//
//	go mod init oracle && go get golang.org/x/net@v0.40.0 && go run no_proxy.go >no_proxy.txt
//
// One line for each pair: the list, the host, the port, and "proxy" or "direct"; tabs between.
package main

import (
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpproxy"
)

var lists = []string{
	"", "*", " * ", ",", "a,*", "example.com", ".example.com", "*.example.com", "EXAMPLE.com", " example.com , other.org ", "example.com:80", "example.com:443",
	"com", "10.0.0.1", "10.0.0.1:80", "10.0.0.1:8080", "10.0.0.0/8", "10.0.0.0/33", "10.0.0.0/0", "10.128.0.0/9", "10.0.0.1/32", "::1", "[::1]:80", "2001:db8::1",
	"[2001:db8::1]", "[2001:db8::1]:80", "2001:db8::/32", "2001:db8::/129", "2001:db8:8000::/33", "0.0.0.0/0", "::/0", ".", "*.", "x:", ":80", "10.0.0", "localhost", "10.0.0.0/", "/8",
	"::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "::ffff:10.0.0.0/120", "foo.example.com", "ample.com",
}

var hosts = []string{
	"example.com", "foo.example.com", "fooexample.com", "Example.COM", "other.org", "10.0.0.1", "10.1.2.3", "10.200.0.1", "11.0.0.1", "127.0.0.1",
	"127.8.8.8", "localhost", "localhost.localdomain", "[::1]", "[2001:db8::1]", "[2001:db9::1]", "[2001:db8:9000::1]", "[::ffff:10.0.0.1]", "x", "com",
}

func main() {
	for _, list := range lists {
		f := (&httpproxy.Config{HTTPProxy: "http://p:1", NoProxy: list}).ProxyFunc()
		for _, host := range hosts {
			for _, port := range []string{"80", "8080"} {
				u, err := url.Parse("http://" + host + ":" + port + "/")
				if err != nil {
					panic(err)
				}
				proxy, err := f(u)
				if err != nil {
					panic(err)
				}
				verdict := "direct"
				if proxy != nil {
					verdict = "proxy"
				}
				fmt.Printf("%s\t%s\t%s\t%s\n", list, strings.Trim(host, "[]"), port, verdict)
			}
		}
	}
}
