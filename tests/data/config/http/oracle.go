// SPDX-License-Identifier: Apache-2.0
//
// tests/data/config/http/oracle.go - which of cases.txt Prometheus takes, for tests/unit/test_shared_http.c to compare with
//
//	go mod init oracle && go get github.com/prometheus/common@v0.65.0 && go run oracle.go <cases.txt >oracle.txt
//
// A case is a line "### NAME" and the YAML behind it, which is read as an HTTPClientConfig. Its line in oracle.txt has the
// name, a tab, and "ok" or "refused".
package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/prometheus/common/config"
)

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	for _, c := range strings.Split(string(text), "### ")[1:] {
		name, yaml, _ := strings.Cut(c, "\n")
		verdict := "ok"
		if _, err := config.LoadHTTPConfig(yaml); err != nil {
			verdict = "refused"
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		}
		fmt.Printf("%s\t%s\n", name, verdict)
	}
}
