// SPDX-License-Identifier: Apache-2.0
// discovered - what Prometheus' own service discovery finds, for tests that compare ours with it
//
//	discovered [-settle SECONDS] CONFIG.yaml
//
// CONFIG.yaml is one job's discovery, as {"consul_sd_configs": [{..}]}. Once nothing new has come for the
// given time, prints the labels of each target, sorted, one JSON object a line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sort"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/discovery"
	_ "github.com/prometheus/prometheus/discovery/consul"
	_ "github.com/prometheus/prometheus/discovery/dns"
	_ "github.com/prometheus/prometheus/discovery/http"
	_ "github.com/prometheus/prometheus/discovery/moby"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"go.yaml.in/yaml/v2"
)

type job struct {
	Configs discovery.Configs `yaml:"-"`
}

func (j *job) UnmarshalYAML(unmarshal func(any) error) error {
	return discovery.UnmarshalYAMLWithInlineConfigs(j, unmarshal)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "discovered:", err)
		os.Exit(1)
	}
}

func main() {
	settle := flag.Float64("settle", 3, "seconds")
	flag.Parse()
	text, err := os.ReadFile(flag.Arg(0))
	fail(err)
	var j job
	fail(yaml.UnmarshalStrict(text, &j))

	ctx := context.Background()
	reg := prometheus.NewRegistry()
	metrics, err := discovery.CreateAndRegisterSDMetrics(reg)
	fail(err)
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	m := discovery.NewManager(ctx, logger, reg, metrics, discovery.Updatert(100*time.Millisecond))
	go m.Run()
	fail(m.ApplyConfig(map[string]discovery.Configs{"job": j.Configs}))

	lines := []string{}
	quiet := time.Duration(*settle * float64(time.Second))
	for timer := time.NewTimer(quiet); ; {
		select {
		case sets := <-m.SyncCh():
			if now := labels(sets["job"]); !slices.Equal(now, lines) {
				lines = now
				timer.Reset(quiet)
			}
			continue
		case <-timer.C:
		}
		break
	}
	for _, l := range lines {
		fmt.Println(l)
	}
}

func labels(groups []*targetgroup.Group) []string {
	lines := []string{}
	for _, g := range groups {
		for _, t := range g.Targets {
			all := map[string]string{}
			for k, v := range g.Labels {
				all[string(k)] = string(v)
			}
			for k, v := range t {
				all[string(k)] = string(v)
			}
			for k, v := range all {
				if v == "" {
					delete(all, k)
				}
			}
			line, err := json.Marshal(all)
			fail(err)
			lines = append(lines, string(line))
		}
	}
	sort.Strings(lines)
	return lines
}
