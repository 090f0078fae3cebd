// SPDX-License-Identifier: Apache-2.0

// A record of samples as parca-agent makes it, with the library that it uses, in one of the layouts that it has had:
//
//	parca_layouts LAYOUT PACKING
//
// LAYOUT is flat (a column for each label; dictionaries of bytes; lists) or nested (labels in a struct; dictionaries of strings
// within those of structs; views of lists). PACKING is plain, lz4 or zstd; with "-delta" behind it the samples come in two
// batches, the second of which adds to the dictionaries of the first, with "-anew" it replaces them. A WriteArrowRequest
// goes to standard output.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

const start = 1790000000 * int64(time.Second)

// ---- what is sent ----

type frame struct {
	address              uint64
	kind, file, buildID  string // "" is null
	function, sourceFile string // "" is no line
	line, column         int64
}

var (
	native  = frame{address: 0x1234, kind: "native", file: "app", buildID: "C0FFEE0123456789abcdef0123456789abcdef01"}
	library = frame{address: 0x5678, kind: "native", file: "a-library-with-a-long-name.so", buildID: "go/build/id"}
	lost    = frame{address: 0x9abc, kind: "native", file: "UNKNOWN"}
	kernel  = frame{address: 0xffffffff81000010, kind: "kernel", file: "[kernel.kallsyms]", function: "do_syscall_64", sourceFile: "vmlinux"}
	python  = frame{address: 7, kind: "cpython", function: "work", sourceFile: "a/long/way/to/app.py", line: 12, column: 3}
	outer   = frame{address: 1, kind: "cpython", function: "main", sourceFile: "a/long/way/to/app.py", line: 40}
	abort   = frame{address: 3, kind: "abort-marker", file: "agent-internal-error-frame", function: "aborted"}
)

type sample struct {
	at                     int64 // after start
	labels                 map[string]string
	stack                  []frame // leaf first
	value                  int64
	producer, kind, unit   string
	periodKind, periodUnit string
	delta                  bool
	period, duration       int64
}

func cpu(at time.Duration, labels map[string]string, stack ...frame) sample {
	return sample{int64(at), labels, stack, 1, "parca_agent", "samples", "count", "cpu", "nanoseconds", true, 52631578, int64(time.Second)}
}

func samples() []sample {
	app := func(cpu, thread string) map[string]string {
		return map[string]string{"node": "n1", "comm": "app", "namespace": "shop", "cpu": cpu, "thread_id": thread, "thread_name": "worker"}
	}
	snake := map[string]string{"node": "n1", "comm": "python3", "cpu": "0"}
	return []sample{
		cpu(0, app("0", "11"), native, library),
		cpu(1*time.Second, app("0", "11"), native, library),
		cpu(2*time.Second, app("1", "12"), kernel, native, library),
		cpu(3*time.Second, snake, python, outer, native),
		cpu(12*time.Second, app("1", "12"), native, library), // the next 10 s
		cpu(13*time.Second, app("1", "12"), abort, library),
		cpu(14*time.Second, snake, lost, native),
		{int64(15 * time.Second), snake, []frame{python, outer, native}, 4096, "memory", "inuse_space", "bytes", "space", "bytes",
			false, 524288, 0},
		{int64(15 * time.Second), snake, nil, 100, "memory", "inuse_space", "bytes", "space", "bytes", false, 524288, 0},
	}
}

// ---- as columns ----

var mem = memory.DefaultAllocator

type layout struct {
	nested bool
	text   arrow.DataType // of what is in dictionaries
	labels arrow.DataType
	list   func(arrow.DataType) arrow.DataType
}

func dictionary(values arrow.DataType) *arrow.DictionaryType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint32, ValueType: values}
}

func layoutOf(name string) layout {
	nested := name == "nested"
	text := arrow.DataType(arrow.BinaryTypes.Binary)
	list := func(t arrow.DataType) arrow.DataType { return arrow.ListOf(t) }
	if nested {
		text = arrow.BinaryTypes.String
		list = func(t arrow.DataType) arrow.DataType { return arrow.ListViewOf(t) }
	}
	return layout{nested, text, arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, dictionary(text)), list}
}

// texts are strings with nulls for "": plain views when flat, dictionaries when nested.
func (l layout) texts(values []string) arrow.Array {
	if !l.nested {
		b := array.NewStringViewBuilder(mem)
		for _, v := range values {
			if v == "" {
				b.AppendNull()
			} else {
				b.Append(v)
			}
		}
		return b.NewArray()
	}
	b := array.NewDictionaryBuilder(mem, dictionary(l.text)).(*array.BinaryDictionaryBuilder)
	for _, v := range values {
		if v == "" {
			b.AppendNull()
		} else if err := b.AppendString(v); err != nil {
			log.Fatal(err)
		}
	}
	return b.NewArray()
}

func views(values []string) arrow.Array {
	b := array.NewStringViewBuilder(mem)
	for _, v := range values {
		b.Append(v)
	}
	return b.NewArray()
}

func numbers(values []int64, signed bool) arrow.Array {
	if signed {
		b := array.NewInt64Builder(mem)
		b.AppendValues(values, nil)
		return b.NewArray()
	}
	b := array.NewUint64Builder(mem)
	for _, v := range values {
		b.Append(uint64(v))
	}
	return b.NewArray()
}

func indices(values []uint32) arrow.Array {
	b := array.NewUint32Builder(mem)
	b.AppendValues(values, nil)
	return b.NewArray()
}

func structs(names []string, columns []arrow.Array) arrow.Array {
	fields := make([]arrow.Field, len(names))
	data := make([]arrow.ArrayData, len(names))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: names[i], Type: c.DataType(), Nullable: true}
		data[i] = c.Data()
	}
	return array.MakeFromData(array.NewData(arrow.StructOf(fields...), columns[0].Len(), []*memory.Buffer{nil}, data, 0, 0))
}

// lists of `values`, element i being those of [from[i], from[i] + n[i]).
func (l layout) lists(values arrow.Array, from, n []int32, views bool) arrow.Array {
	offsets, sizes := array.NewInt32Builder(mem), array.NewInt32Builder(mem)
	offsets.AppendValues(from, nil)
	if views {
		sizes.AppendValues(n, nil)
		return array.MakeFromData(array.NewData(arrow.ListViewOf(values.DataType()), len(from),
			[]*memory.Buffer{nil, offsets.NewArray().Data().Buffers()[1], sizes.NewArray().Data().Buffers()[1]},
			[]arrow.ArrayData{values.Data()}, 0, 0))
	}
	offsets.Append(int32(values.Len()))
	return array.MakeFromData(array.NewData(arrow.ListOf(values.DataType()), len(from),
		[]*memory.Buffer{nil, offsets.NewArray().Data().Buffers()[1]}, []arrow.ArrayData{values.Data()}, 0, 0))
}

// state is what grows from batch to batch.
type state struct {
	frames    []frame
	functions []frame
}

func (s *state) location(f frame) uint32 {
	for i, known := range s.frames {
		if known == f {
			return uint32(i)
		}
	}
	s.frames = append(s.frames, f)
	return uint32(len(s.frames) - 1)
}

func (s *state) functionOf(f frame) uint32 {
	for i, known := range s.functions {
		if known.function == f.function && known.sourceFile == f.sourceFile {
			return uint32(i)
		}
	}
	s.functions = append(s.functions, f)
	return uint32(len(s.functions) - 1)
}

// locations are the dictionary of them.
func (l layout) locations(s *state) arrow.Array {
	var kinds, files, ids []string
	var addresses, lineNumbers, columns []int64
	var from, n []int32
	var functions []uint32
	for _, f := range s.frames {
		addresses = append(addresses, int64(f.address))
		kinds, files, ids = append(kinds, f.kind), append(files, f.file), append(ids, f.buildID)
		from = append(from, int32(len(lineNumbers)))
		n = append(n, 0)
		if f.function != "" {
			n[len(n)-1] = 1
			lineNumbers, columns = append(lineNumbers, f.line), append(columns, f.column)
			functions = append(functions, s.functionOf(f))
		}
	}
	var names, sources []string
	for _, f := range s.functions {
		names, sources = append(names, f.function), append(sources, f.sourceFile)
	}
	function := structs([]string{"system_name", "filename", "start_line"},
		[]arrow.Array{views(names), l.texts(sources), numbers(make([]int64, len(names)), !l.nested)})
	functionColumn := array.NewDictionaryArray(dictionary(function.DataType()), indices(functions), function)
	lineNames, lineColumns := []string{"line"}, []arrow.Array{numbers(lineNumbers, !l.nested)}
	if l.nested {
		lineNames, lineColumns = append(lineNames, "column"), append(lineColumns, numbers(columns, false))
	}
	lines := structs(append(lineNames, "function"), append(lineColumns, functionColumn))
	return structs([]string{"address", "frame_type", "mapping_file", "mapping_build_id", "lines"}, []arrow.Array{
		numbers(addresses, false), l.texts(kinds), l.texts(files), l.texts(ids), l.lists(lines, from, n, l.nested)})
}

func key(stack []frame) string { return fmt.Sprint(stack) }

func (l layout) stacks(s *state, rows []sample) arrow.Array {
	type part struct{ from, n int32 }
	known := map[string]part{}
	var from, n []int32
	var all []uint32
	for _, r := range rows {
		p, ok := known[key(r.stack)]
		if !ok {
			p = part{int32(len(all)), int32(len(r.stack))}
			for _, f := range r.stack {
				all = append(all, s.location(f))
			}
			known[key(r.stack)] = p
		}
		from, n = append(from, p.from), append(n, p.n)
	}
	values := l.locations(s)
	return l.lists(array.NewDictionaryArray(dictionary(values.DataType()), indices(all), values), from, n, true)
}

func runs(t arrow.DataType, values []string) arrow.Array {
	b := array.NewBuilder(mem, t).(*array.RunEndEncodedBuilder)
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			b.ContinueRun(1)
			continue
		}
		b.Append(1)
		if v == "" {
			b.ValueBuilder().AppendNull()
		} else if err := b.ValueBuilder().AppendValueFromString(v); err != nil {
			log.Fatal(err)
		}
	}
	return b.NewArray()
}

func column(rows []sample, of func(sample) string) []string {
	var values []string
	for _, r := range rows {
		values = append(values, of(r))
	}
	return values
}

// unknown is a label that a value of AppendValueFromString for bytes would be taken for base64.
func (l layout) label(rows []sample, name string) arrow.Array {
	values := column(rows, func(r sample) string { return r.labels[name] })
	b := array.NewBuilder(mem, l.labels).(*array.RunEndEncodedBuilder)
	d := b.ValueBuilder().(*array.BinaryDictionaryBuilder)
	for i, v := range values {
		if i > 0 && v == values[i-1] {
			b.ContinueRun(1)
			continue
		}
		b.Append(1)
		if v == "" {
			d.AppendNull()
		} else if err := d.AppendString(v); err != nil {
			log.Fatal(err)
		}
	}
	return b.NewArray()
}

func (l layout) record(s *state, rows []sample) arrow.RecordBatch {
	var fields []arrow.Field
	var columns []arrow.Array
	add := func(name string, c arrow.Array) {
		fields = append(fields, arrow.Field{Name: name, Type: c.DataType(), Nullable: true})
		columns = append(columns, c)
	}
	labelNames := []string{"comm", "cpu", "namespace", "node", "thread_id", "thread_name"}
	var labels []arrow.Array
	for _, name := range labelNames {
		c := l.label(rows, name)
		labels = append(labels, c)
		if !l.nested {
			add("labels."+name, c)
		}
	}
	if l.nested {
		add("labels", structs(labelNames, labels))
	}
	add("stacktrace", l.stacks(s, rows))
	ids := extensions.NewUUIDBuilder(mem)
	var values, periods, durations []string
	var counts []int64
	times := array.NewTimestampBuilder(mem, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"})
	for _, r := range rows {
		ids.AppendBytes([16]byte{byte(len(values))})
		counts = append(counts, r.value)
		values = append(values, "")
		periods, durations = append(periods, fmt.Sprint(r.period)), append(durations, fmt.Sprint(r.duration))
		times.Append(arrow.Timestamp(start + r.at))
	}
	if l.nested {
		add("stacktrace_id", ids.NewArray())
	}
	add("value", numbers(counts, true))
	text := arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)
	add("producer", runs(text, column(rows, func(r sample) string { return r.producer })))
	add("sample_type", runs(text, column(rows, func(r sample) string { return r.kind })))
	add("sample_unit", runs(text, column(rows, func(r sample) string { return r.unit })))
	add("period_type", runs(text, column(rows, func(r sample) string { return r.periodKind })))
	add("period_unit", runs(text, column(rows, func(r sample) string { return r.periodUnit })))
	add("temporality", runs(text, column(rows, func(r sample) string {
		if r.delta {
			return "delta"
		}
		return ""
	})))
	add("period", runs(arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64), periods))
	long := arrow.DataType(arrow.PrimitiveTypes.Int64)
	if l.nested {
		long = arrow.PrimitiveTypes.Uint64
	}
	add("duration", runs(arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, long), durations))
	add("timestamp", times.NewArray())
	version := arrow.NewMetadata([]string{"parca_write_schema_version"}, []string{"v2"})
	return array.NewRecordBatch(arrow.NewSchema(fields, &version), columns, int64(len(rows)))
}

// ---- as bytes ----

func stream(l layout, packing string) []byte {
	var out bytes.Buffer
	var batches []arrow.RecordBatch
	var s state
	all := samples()
	name, how, _ := strings.Cut(packing, "-")
	if how == "" {
		batches = append(batches, l.record(&s, all))
	} else {
		batches = append(batches, l.record(&s, all[:3]))
		if how == "anew" {
			s = state{}
		}
		batches = append(batches, l.record(&s, all[3:]))
	}
	options := []ipc.Option{ipc.WithSchema(batches[0].Schema()), ipc.WithDictionaryDeltas(how == "delta")}
	switch name {
	case "lz4":
		options = append(options, ipc.WithLZ4())
	case "zstd":
		options = append(options, ipc.WithZstd())
	}
	w := ipc.NewWriter(&out, options...)
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return out.Bytes()
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: parca_layouts LAYOUT PACKING")
	}
	buffer := stream(layoutOf(os.Args[1]), os.Args[2])
	os.Stdout.Write(append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(buffer))), buffer...))
}
