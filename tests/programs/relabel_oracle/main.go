// SPDX-License-Identifier: Apache-2.0

// relabel_oracle - what Prometheus' own relabelling makes of the targets that Decima has found
//
//	relabel_oracle CONFIG TARGETS    (the configuration's scrape_configs; the answer of /api/v1/targets)
//	relabel_oracle rules FILE...     ("NAME ok" or "NAME refused": does Prometheus take each file's relabel_configs?)
//
// A job has one target. Its discovered labels go through the job's rules and what Prometheus does then; one line a job: its
// name, "same", or how Decima's labels differ. Exits 1 when one does.
package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"gopkg.in/yaml.v2"
)

type job struct {
	Name  string            `yaml:"job_name"`
	Rules []*relabel.Config `yaml:"relabel_configs"`
}

type config struct {
	Jobs []job `yaml:"scrape_configs"`
}

type endpoint struct {
	Job        string            `json:"job"`
	Health     string            `json:"health"`
	Discovered map[string]string `json:"discovered"`
	Labels     map[string]string `json:"labels"`
}

func read(path string) (config, error) {
	var c config
	text, err := os.ReadFile(path)
	if err == nil {
		err = yaml.Unmarshal(text, &c)
	}
	if err != nil {
		return c, err
	}
	for _, j := range c.Jobs {
		for i, r := range j.Rules {
			if err := r.Validate(model.UTF8Validation); err != nil {
				return c, fmt.Errorf("job %s: rule %d: %w", j.Name, i+1, err)
			}
		}
	}
	return c, nil
}

// As scrape.PopulateLabels: what begins with __ goes, instance is the address where nothing else said it.
func finish(b *labels.Builder) map[string]string {
	out := map[string]string{}
	if b.Get("instance") == "" {
		b.Set("instance", b.Get("__address__"))
	}
	b.Labels().Range(func(l labels.Label) {
		if !strings.HasPrefix(l.Name, "__") {
			out[l.Name] = l.Value
		}
	})
	return out
}

func judge(j job, e endpoint) string {
	b := labels.NewBuilder(labels.FromMap(e.Discovered))
	if !relabel.ProcessBuilder(b, j.Rules...) {
		if e.Health == "dropped" {
			return "same"
		}
		return fmt.Sprintf("Prometheus drops it, and here it is %s", e.Health)
	}
	if e.Health == "dropped" {
		return "Prometheus keeps it, and here it is dropped"
	}
	if want := finish(b); !maps.Equal(want, e.Labels) {
		return fmt.Sprintf("%v, and not %v", e.Labels, want)
	}
	return "same"
}

func main() {
	if os.Args[1] == "rules" {
		for _, path := range os.Args[2:] {
			verdict := "ok"
			if _, err := read(path); err != nil {
				verdict = "refused"
			}
			fmt.Println(path, verdict)
		}
		return
	}
	var found struct {
		Endpoints []endpoint `json:"endpoints"`
	}
	c, err := read(os.Args[1])
	if err == nil {
		var text []byte
		if text, err = os.ReadFile(os.Args[2]); err == nil {
			err = json.Unmarshal(text, &found)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	status := 0
	for _, j := range c.Jobs {
		verdict := "Decima does not tell of it"
		for _, e := range found.Endpoints {
			if e.Job == j.Name {
				verdict = judge(j, e)
			}
		}
		if verdict != "same" {
			status = 1
		}
		fmt.Println(j.Name, verdict)
	}
	os.Exit(status)
}
