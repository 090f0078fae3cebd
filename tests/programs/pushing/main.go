// SPDX-License-Identifier: Apache-2.0

// A program that sends its own profiles as Pyroscope's clients do.
//
//	pushing sdk URL SECONDS    the SDK, for so long: CPU and heap
//	pushing connect URL FILE   a pprof by push.v1, as Connect's client of the published service sends it, as a message and in JSON
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"connectrpc.com/connect"
	pushv1 "github.com/grafana/pyroscope/api/gen/proto/go/push/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"

	"github.com/grafana/pyroscope-go"
)

//go:noinline
func burnPushed(until time.Time) int {
	n := 0
	for time.Now().Before(until) {
		for i := 0; i < 1000; i++ {
			n += i * i
		}
	}
	return n
}

var kept [][]byte

//go:noinline
func allocatePushed(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "pushing:", err)
		os.Exit(1)
	}
}

func bySDK(url string, seconds int) {
	p, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "shop.checkout",
		ServerAddress:   url,
		Logger:          pyroscope.StandardLogger,
		Tags:            map[string]string{"env": "test"},
		UploadRate:      time.Second,
	})
	check(err)
	allocatePushed(64)
	fmt.Println(burnPushed(time.Now().Add(time.Duration(seconds) * time.Second)))
	p.Flush(true)
	check(p.Stop())
}

func byConnect(url, file, service string, options ...connect.ClientOption) {
	raw, err := os.ReadFile(file)
	check(err)
	client := pushv1connect.NewPusherServiceClient(http.DefaultClient, url, append(options, connect.WithSendGzip())...)
	_, err = client.Push(context.Background(), connect.NewRequest(&pushv1.PushRequest{
		Series: []*pushv1.RawProfileSeries{{
			Labels: []*typesv1.LabelPair{
				{Name: "__name__", Value: "thing"},
				{Name: "service_name", Value: service},
			},
			Samples: []*pushv1.RawSample{{RawProfile: raw, ID: "0b5f1d4a-9a54-4e2c-9d0a-0d6a2f6f4d7e"}},
		}},
	}))
	check(err)
}

func main() {
	switch {
	case len(os.Args) == 4 && os.Args[1] == "sdk":
		seconds, err := strconv.Atoi(os.Args[3])
		check(err)
		bySDK(os.Args[2], seconds)
	case len(os.Args) == 4 && os.Args[1] == "connect":
		byConnect(os.Args[2], os.Args[3], "connected")
		byConnect(os.Args[2], os.Args[3], "in_json", connect.WithProtoJSON())
	default:
		check(fmt.Errorf("usage: pushing sdk URL SECONDS | pushing connect URL FILE"))
	}
}
