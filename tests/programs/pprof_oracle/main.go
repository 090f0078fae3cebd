// SPDX-License-Identifier: Apache-2.0

// tests/programs/pprof_oracle/main.go - our reader of pprof's older formats, held against Go's own
//
//	pprof_oracle files CONVERTER FILE..
//	pprof_oracle random CONVERTER SEED N
//
// CONVERTER reads an older format and writes profile.proto (tests/unit/legacy_proto). Both profiles
// have to say the same: types, period, duration, mappings, and for each sample in order its values,
// its label and its addresses, each with its mapping. A line for each kind of file, "KIND N same",
// or what is different and exit status 1. Where ours does otherwise on purpose (core/codec/legacy*.c),
// `asOurs` says so, or no such file is made.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"
)

// What is in use is named alike whether allocations are there or not.
func asOurs(p *profile.Profile, data []byte) {
	first, _, _ := bytes.Cut(data, []byte("\n"))
	grown := bytes.Contains(first, []byte("@ growth")) || bytes.Contains(first, []byte("@ fragmentation"))
	if !grown && len(p.SampleType) == 2 && p.SampleType[0].Type == "objects" {
		p.SampleType[0].Type = "inuse_objects"
		p.SampleType[1].Type = "inuse_space"
	}
}

func isFake(m *profile.Mapping) bool {
	return m != nil && m.Start == 0 && m.Limit == ^uint64(0) && m.File == "" && m.BuildID == ""
}

func mappingText(m *profile.Mapping) string {
	if m == nil || isFake(m) {
		return "none"
	}
	return fmt.Sprintf("%x-%x@%x %q %q", m.Start, m.Limit, m.Offset, m.File, m.BuildID)
}

func unitText(v *profile.ValueType) string { return v.Type + "/" + v.Unit }

// All that is compared, a line for each entry.
func lines(p *profile.Profile) []string {
	var out []string
	for _, t := range p.SampleType {
		out = append(out, "type "+unitText(t))
	}
	out = append(out, fmt.Sprintf("period %s %d, duration %d", unitText(p.PeriodType), p.Period, p.DurationNanos))
	for _, m := range p.Mapping {
		if !isFake(m) {
			out = append(out, "mapping "+mappingText(m))
		}
	}
	for _, s := range p.Sample {
		var b strings.Builder
		b.WriteString("sample")
		for _, v := range s.Value {
			// Of what is beyond 64 bits Go's reader makes the least number, ours the nearest.
			if v == math.MinInt64 || v == math.MaxInt64 {
				b.WriteString(" beyond")
			} else {
				fmt.Fprintf(&b, " %d", v)
			}
		}
		for key, values := range s.NumLabel {
			if len(values) != 1 || values[0] != 0 {
				fmt.Fprintf(&b, " %s=%v", key, values)
			}
		}
		for key, values := range s.Label {
			fmt.Fprintf(&b, " %s=%q", key, values)
		}
		for _, l := range s.Location {
			fmt.Fprintf(&b, " %x in %s", l.Address, mappingText(l.Mapping))
		}
		out = append(out, b.String())
	}
	return out
}

// What our converter makes of the bytes, or its complaint.
func convert(converter string, data []byte) (*profile.Profile, error) {
	cmd := exec.Command(converter)
	cmd.Stdin = bytes.NewReader(data)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%v: %s", err, strings.TrimSpace(stderr.String()))
	}
	return profile.ParseUncompressed(stdout.Bytes())
}

// The first difference; "" when there is none.
func compare(converter string, data []byte) (samples int, difference string) {
	theirs, err := profile.ParseData(data)
	ours, oursErr := convert(converter, data)
	if err != nil || oursErr != nil {
		return 0, fmt.Sprintf("Go: %v; ours: %v", err, oursErr)
	}
	asOurs(theirs, data)
	want, got := lines(theirs), lines(ours)
	for i := 0; i < len(want) || i < len(got); i++ {
		switch {
		case i >= len(want):
			return 0, "too much: " + got[i]
		case i >= len(got):
			return 0, "missing: " + want[i]
		case want[i] != got[i]:
			return 0, fmt.Sprintf("Go: %s; ours: %s", want[i], got[i])
		}
	}
	return len(theirs.Sample), ""
}

// ---- random files

type maker struct {
	*rand.Rand
	out  bytes.Buffer
	crlf bool
	// What stands before mappings, in forms that Go's reader of this format takes.
	sentinels []string
	// Addresses that are drawn again and again: stacks share frames, and mappings hold them.
	pool []uint64
	// All addresses are in mappings, some in the part that these do not say that they have. Go's reader
	// finds that part only until the first address that is in none.
	whole bool
}

func (m *maker) line(format string, args ...interface{}) {
	fmt.Fprintf(&m.out, format, args...)
	if m.crlf {
		m.out.WriteByte('\r')
	}
	m.out.WriteByte('\n')
}

func (m *maker) one(of ...string) string { return of[m.Intn(len(of))] }

func (m *maker) blanks() string { return strings.Repeat(" ", m.Intn(4)) }

func (m *maker) address() uint64 {
	if m.Intn(40) == 0 && !m.whole {
		return []uint64{0, 1, 2, ^uint64(0), ^uint64(0) - 1, 1 << 63}[m.Intn(6)]
	}
	a := m.pool[m.Intn(len(m.pool))]
	if m.Intn(4) == 0 {
		a++
	}
	return a
}

func (m *maker) stack() []uint64 {
	s := make([]uint64, m.Intn(12))
	for i := range s {
		s[i] = m.address()
	}
	if len(s) > 1 && m.Intn(3) == 0 {
		s[1] = s[0]
	}
	return s
}

func (m *maker) stackText() string {
	var b strings.Builder
	for _, a := range m.stack() {
		fmt.Fprintf(&b, " 0x%s%x", m.one("", "", "00"), a)
	}
	return b.String()
}

func (m *maker) noise() {
	switch m.Intn(8) {
	case 0:
		m.line("")
	case 1:
		m.line("#\tmain.work+17\t/src/main.go:17")
	case 2:
		m.line("  ")
	}
}

// Numbers of every size, few of them huge.
func (m *maker) count() int64 {
	return m.Int63n(1 << uint(1+m.Intn(m.Intn(40)+1)))
}

func (m *maker) maps() {
	at := uint64(0x400000)
	if m.Intn(2) == 0 {
		at = 0x10000 * uint64(1+m.Intn(1000))
	}
	m.line("")
	m.line(m.one(m.sentinels...))
	m.mapLines(at)
}

// Ranges that do not overlap, even when they are longer at their start than they say.
func (m *maker) mapLines(at uint64) {
	name := m.one("/bin/server", "server", "/usr/lib/libc-2.31.so", "/usr/lib/libm.so.6", "[vdso]")
	// Where this is the first of two, it goes, and what it held is in none.
	if !m.whole && m.Intn(6) == 0 {
		name = "/anon_hugepage"
	}
	if m.Intn(3) == 0 {
		m.line(m.one("build=/build/x", " build = /build/x ", "other=1"))
	}
	var inside []uint64
	before := uint64(0) // of the mapping before, where this one would go on
	for n := m.Intn(12); n > 0 || (m.whole && inside == nil); n-- {
		size := uint64(0x1000 * (1 + m.Intn(64)))
		offset, goesOn := uint64(0), false
		switch m.Intn(4) {
		case 0: // the next part of the one before
			goesOn = true
			if m.Intn(2) == 0 {
				offset = before
			}
		default:
			at += 0x100000
			if m.Intn(2) == 0 {
				offset = uint64(0x1000 * m.Intn(16))
			}
			if m.Intn(2) == 0 {
				name = m.one("/bin/server", "$build/server", "/usr/lib/libc-2.31.so", "/usr/lib/libm.so.6", "[vdso]", "/opt/a.so_3x", "/opt/so")
			}
		}
		log := m.one("", "", "", "I0102 x.cc:17] ")
		perm := m.one("r-xp", "r-xp", "rwxp", "r--p", "rw-p", "---p")
		says := offset // in the brief form without one, the range is all there is
		switch m.Intn(4) {
		case 0:
			m.line("%s%08x-%08x %s %08x 08:01 %d %s", log, at, at+size, perm, offset, m.Intn(100000), name)
		case 1:
			m.line("%s%x-%x: %s", log, at, at+size, name)
			says, perm = 0, "x"
		case 2:
			m.line("%s  0x%x-0x%x %s (@%x) %x", log, at, at+size, name, offset, 0xabc000+m.Intn(2))
			perm = "x"
		case 3:
			m.line("%x-%x r-xp %x fd:00 7", at, at+size, offset)
			perm = "x"
		}
		before = offset + size
		for i := 0; i < 3 && strings.Contains(perm, "x") && name != "/anon_hugepage"; i++ {
			from := at
			if m.whole && !goesOn && at > 0x400000+says && m.Intn(3) == 0 {
				from = at - says
			}
			inside = append(inside, from+1+uint64(m.Int63n(int64(at+size-from-3))))
		}
		at += size
		if m.Intn(6) == 0 {
			m.line(m.one("", "no mapping", "--- other ---"))
		}
	}
	for i := range m.pool {
		if len(inside) > 0 && (m.whole || m.Intn(3) == 0) {
			m.pool[i] = inside[m.Intn(len(inside))]
		}
	}
}

// Puts the mappings behind what `body` writes, though made before it: so its addresses are in them.
func (m *maker) withMaps(body func()) {
	if !m.whole && m.Intn(5) == 0 {
		body()
		return
	}
	m.maps()
	maps := append([]byte(nil), m.out.Bytes()...)
	m.out.Reset()
	body()
	m.out.Write(maps)
}

func (m *maker) heap() {
	kind := m.one("heapprofile", "heap_v2/524288", "heapz_v2/524288", "heap/1048576", "heap_v2/1", "heapz_v2/0", "heap/2",
		"heap_v2", "growthz", "growth", "fragmentationz", "fragmentation", "heap_v2/"+strconv.FormatInt(m.count()+1, 10))
	// Without a rate Go's reader takes objects of no size for none.
	least := int64(1)
	if strings.HasPrefix(kind, "heapprofile") || strings.HasSuffix(kind, "288") {
		least = 0
	}
	pair := func() (int64, int64) {
		n := m.count()
		if n == 0 {
			return 0, 0
		}
		return n, m.count() + least
	}
	a, b := pair()
	c, d := pair()
	if m.Intn(3) == 0 {
		c, d = a, b
	}
	m.line("heap profile:%s%d:%s%d [%s%d:%s%d] @ %s", m.blanks(), a, m.blanks(), b, m.blanks(), c, m.blanks(), d, kind)
	for n := m.Intn(30); n > 0; n-- {
		a, b = pair()
		c, d = pair()
		if m.Intn(20) == 0 {
			a, b = -a, -b
		}
		m.line("%s%d:%s%d [%s%d:%s%d] @%s", m.blanks(), a, m.blanks(), b, m.blanks(), c, m.blanks(), d, m.stackText())
		m.noise()
	}
}

func (m *maker) goCount() {
	for m.Intn(3) == 0 {
		m.line(m.one("", "# comment", "  "))
	}
	m.line("%s profile: total %d", m.one("goroutine", "threadcreate", "my.own/count"), m.count())
	for n := m.Intn(30); n > 0; n-- {
		stack := m.stackText()
		for stack == "" {
			stack = m.stackText()
		}
		// Go's reader wants addresses as Go writes them.
		m.line("%d @%s", m.count(), stack)
		m.noise()
	}
}

func (m *maker) contention() {
	m.line(m.one("--- contentionz 1 ---", "--- mutex:", "--- contention:"))
	for _, attribute := range []string{"cycles/second", "sampling period", "ms since reset", "discarded samples"} {
		if m.Intn(3) != 0 {
			m.line("%s%s%s=%s%d", m.blanks(), attribute, m.one("", " "), m.blanks(), m.Intn(1<<uint(m.Intn(31))))
			m.noise()
		}
	}
	for n := m.Intn(30); n > 0; n-- {
		// Go's reader wraps what is beyond 64 bits.
		m.line("%s%d %s%d @%s", m.blanks(), m.Int63n(1<<20), m.blanks(), m.Int63n(1<<30), m.stackText())
		m.noise()
	}
}

func (m *maker) threads() {
	if m.Intn(4) != 0 {
		m.line("--- threadz 1 ---")
		m.line("")
	}
	n := 1 + m.Intn(12)
	for i := 0; i < n; i++ {
		m.line("--- Thread %x (name: %s/%d) stack: ---", m.Int63(), m.one("main", "a b", "x/y"), m.Intn(1<<20))
		if i > 0 && m.Intn(4) == 0 {
			m.line("  [same as previous thread]")
			continue
		}
		stack := m.stack()
		for len(stack) == 0 {
			stack = m.stack()
		}
		for k, a := range stack {
			m.line("  %s0x%08x: %s", map[bool]string{true: "PC:  ", false: ""}[k == 0], a, m.one("main", "helper(arg *)", "f"))
		}
		if m.Intn(3) == 0 {
			m.line("      creator:%s", m.stackText())
		}
		m.noise()
	}
	// Go's reader wants to be told that there are no more.
	m.line("---- no stack trace for 3 threads ---")
}

func (m *maker) cpu() {
	var maps []byte
	if m.whole || m.Intn(8) != 0 {
		m.mapLines(0x400000)
		maps = append([]byte("\n"), m.out.Bytes()...)
		m.out.Reset()
	}
	var order binary.ByteOrder = binary.LittleEndian
	if m.Intn(2) == 0 {
		order = binary.BigEndian
	}
	wide := m.Intn(2) == 0
	put := func(words ...uint64) {
		for _, w := range words {
			var b [8]byte
			if wide {
				order.PutUint64(b[:], w)
				m.out.Write(b[:])
			} else {
				order.PutUint32(b[:], uint32(w))
				m.out.Write(b[:4])
			}
		}
	}
	put(0, 3, 0, uint64(1+m.Intn(100000)), 0)
	n := m.Intn(80)
	handlers := []uint64{m.address(), m.address()}[:m.Intn(3)]
	for ; n > 0; n-- {
		stack := m.stack()
		if len(stack) > 0 && m.Intn(40) != 0 {
			stack = append(append([]uint64{stack[0]}, handlers...), stack[1:]...)
		}
		put(1+uint64(m.Intn(1<<uint(m.Intn(20)))), uint64(len(stack)))
		put(stack...)
	}
	if maps != nil {
		put(0, 1, 0)
		m.out.Write(maps)
	}
}

func random(converter string, seed int64, n int) bool {
	kinds := map[string]func(*maker){
		"heap":       func(m *maker) { m.withMaps(m.heap) },
		"count":      func(m *maker) { m.withMaps(m.goCount) },
		"contention": func(m *maker) { m.withMaps(m.contention) },
		"threads":    func(m *maker) { m.withMaps(m.threads) },
		"cpu":        (*maker).cpu,
	}
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	sort.Strings(names)
	fine := true
	for _, name := range names {
		samples, same := 0, 0
		for i := 0; i < n; i++ {
			m := &maker{Rand: rand.New(rand.NewSource(seed*1000003 + int64(i))), pool: make([]uint64, 40)}
			m.crlf = name != "cpu" && m.Intn(5) == 0
			m.whole = m.Intn(3) == 0
			m.sentinels = []string{"--- Memory map: ---"}
			if name == "heap" || name == "threads" {
				m.sentinels = []string{"MAPPED_LIBRARIES:", "--- Memory map: ---", " --- Memory map: --- x"}
			}
			for k := range m.pool {
				m.pool[k] = 1<<40 + uint64(m.Int63n(1<<46))
			}
			kinds[name](m)
			got, difference := compare(converter, m.out.Bytes())
			if difference != "" {
				file := filepath.Join(os.TempDir(), fmt.Sprintf("pprof_oracle.%s.%d", name, i))
				_ = os.WriteFile(file, m.out.Bytes(), 0o600)
				fmt.Printf("%s of seed %d, turn %d (%s): %s\n", name, seed, i, file, difference)
				fine = false
				break
			}
			samples += got
			same++
		}
		fmt.Printf("%s %d files with %d samples same\n", name, same, samples)
		fine = fine && samples > n
	}
	return fine
}

func main() {
	fine := len(os.Args) > 3
	switch {
	case fine && os.Args[1] == "random" && len(os.Args) == 5:
		seed, _ := strconv.ParseInt(os.Args[3], 10, 64)
		n, _ := strconv.Atoi(os.Args[4])
		fine = random(os.Args[2], seed, n)
	case fine && os.Args[1] == "files":
		for _, file := range os.Args[3:] {
			data, err := os.ReadFile(file)
			samples, difference := 0, fmt.Sprint(err)
			if err == nil {
				samples, difference = compare(os.Args[2], data)
			}
			if difference != "" {
				fine = false
				fmt.Printf("%s: %s\n", filepath.Base(file), difference)
				continue
			}
			fmt.Printf("%s: %d samples same\n", filepath.Base(file), samples)
		}
	default:
		fine = false
		fmt.Fprintln(os.Stderr, "pprof_oracle files CONVERTER FILE.. | random CONVERTER SEED N")
	}
	if !fine {
		os.Exit(1)
	}
}
