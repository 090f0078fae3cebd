// SPDX-License-Identifier: Apache-2.0
// tests/programs/parca_arrow - an Arrow stream of samples with the columns of Parca's agents, as Arrow's own library writes it
//
//	parca_arrow UNIX_SECONDS none|lz4|zstd
//
// Four samples: two of one stack (native, kernel), one of an interpreted frame, one of another series. 30+12 and 7 and 100.
package main

import (
	"bytes"
	"os"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var (
	mem     = memory.NewGoAllocator()
	u32     = arrow.PrimitiveTypes.Uint32
	text    = arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String)
	number  = arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64)
	label   = arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, &arrow.DictionaryType{IndexType: u32, ValueType: arrow.BinaryTypes.Binary})
	view    = arrow.BinaryTypes.StringView
	i64     = arrow.PrimitiveTypes.Int64
	fnType  = arrow.StructOf(arrow.Field{Name: "system_name", Type: view, Nullable: true}, arrow.Field{Name: "filename", Type: view, Nullable: true}, arrow.Field{Name: "start_line", Type: i64})
	fnDict  = &arrow.DictionaryType{IndexType: u32, ValueType: fnType}
	line    = arrow.StructOf(arrow.Field{Name: "line", Type: i64}, arrow.Field{Name: "function", Type: fnDict})
	loc     = arrow.StructOf(arrow.Field{Name: "address", Type: arrow.PrimitiveTypes.Uint64}, arrow.Field{Name: "frame_type", Type: view}, arrow.Field{Name: "mapping_file", Type: view, Nullable: true}, arrow.Field{Name: "mapping_build_id", Type: view, Nullable: true}, arrow.Field{Name: "lines", Type: arrow.ListOf(line)})
	locDict = &arrow.DictionaryType{IndexType: u32, ValueType: loc}
	stacks  = arrow.ListViewOf(locDict)
)

func runs[T any](of *arrow.RunEndEncodedType, add func(array.Builder, T), values ...T) arrow.Array {
	b := array.NewRunEndEncodedBuilder(mem, of.RunEnds(), of.Encoded())
	for _, v := range values {
		b.Append(1)
		add(b.ValueBuilder(), v)
	}
	return b.NewArray()
}

func texts(v ...string) arrow.Array {
	return runs(text, func(b array.Builder, v string) { b.(*array.StringBuilder).Append(v) }, v...)
}

func numbers(v ...int64) arrow.Array {
	return runs(number, func(b array.Builder, v int64) { b.(*array.Int64Builder).Append(v) }, v...)
}

func labels(v ...string) arrow.Array {
	return runs(label, func(b array.Builder, v string) {
		if v == "" {
			b.AppendNull()
		} else {
			b.(*array.BinaryDictionaryBuilder).AppendString(v)
		}
	}, v...)
}

func u32s(v ...uint32) arrow.Array {
	b := array.NewUint32Builder(mem)
	b.AppendValues(v, nil)
	return b.NewArray()
}

func i32s(v ...int32) *memory.Buffer {
	b := array.NewInt32Builder(mem)
	b.AppendValues(v, nil)
	return b.NewArray().Data().Buffers()[1]
}

func i64s(v ...int64) arrow.Array {
	b := array.NewInt64Builder(mem)
	b.AppendValues(v, nil)
	return b.NewArray()
}

// "" is null.
func views(v ...string) arrow.Array {
	b := array.NewStringViewBuilder(mem)
	for _, s := range v {
		if s == "" {
			b.AppendNull()
		} else {
			b.AppendString(s)
		}
	}
	return b.NewArray()
}

func structOf(t arrow.DataType, children ...arrow.Array) arrow.ArrayData {
	data := make([]arrow.ArrayData, len(children))
	for i, c := range children {
		data[i] = c.Data()
	}
	return array.NewData(t, children[0].Len(), []*memory.Buffer{nil}, data, 0, 0)
}

func made(d arrow.ArrayData) arrow.Array { return array.MakeFromData(d) }

// Functions of the kernel and of an interpreter in lines 0 and 1; locations native, kernel, interpreted; stacks as views.
func stackColumn() arrow.Array {
	fns := made(structOf(fnType, views("do_syscall_64_of_the_kernel", "handle_request_of_python"), views("vmlinux", "app.py"), i64s(0, 10)))
	lines := made(structOf(line, i64s(0, 42), array.NewDictionaryArray(fnDict, u32s(0, 1), fns)))
	lists := made(array.NewData(arrow.ListOf(line), 3, []*memory.Buffer{nil, i32s(0, 0, 1, 2)}, []arrow.ArrayData{lines.Data()}, 0, 0))
	addresses := array.NewUint64Builder(mem)
	addresses.AppendValues([]uint64{0x1234, 0xffffffff81000010, 7}, nil)
	locs := made(structOf(loc, addresses.NewArray(), views("native", "kernel", "cpython"), views("libwork.so.6", "[kernel.kallsyms]", ""),
		views("0123456789abcdef0123456789abcdef01234567", "", ""), lists))
	of := array.NewDictionaryArray(locDict, u32s(1, 0, 2, 0), locs)
	return made(array.NewData(stacks, 4, []*memory.Buffer{nil, i32s(0, 0, 2, 3), i32s(2, 2, 1, 1)}, []arrow.ArrayData{of.Data()}, 0, 0))
}

func main() {
	seconds, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		panic(err)
	}
	times := array.NewTimestampBuilder(mem, &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"})
	for i := int64(0); i < 4; i++ {
		times.Append(arrow.Timestamp(seconds*1e9 + i*1e6))
	}
	same := func(s string) arrow.Array { return texts(s, s, s, s) }
	columns := []struct {
		name string
		of   arrow.Array
	}{
		{"labels.comm", labels("work", "work", "work", "idle")}, {"labels.node", labels("n1", "n1", "n1", "")},
		{"labels.cpu", labels("0", "1", "1", "0")},
		{"stacktrace", stackColumn()}, {"value", i64s(30, 12, 7, 100)}, {"producer", same("parca_agent")},
		{"sample_type", same("samples")}, {"sample_unit", same("count")}, {"period_type", same("cpu")},
		{"period_unit", same("nanoseconds")}, {"temporality", same("delta")}, {"period", numbers(52631578, 52631578, 52631578, 52631578)},
		{"duration", numbers(1e10, 1e10, 1e10, 1e10)}, {"timestamp", times.NewArray()},
	}
	if os.Args[2] == "float" { // a type that no client writes
		values := array.NewFloat64Builder(mem)
		values.AppendValues([]float64{30, 12, 7, 100}, nil)
		columns[4].of = values.NewArray()
	}
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, c := range columns {
		fields = append(fields, arrow.Field{Name: c.name, Type: c.of.DataType(), Nullable: true})
		arrays = append(arrays, c.of)
	}
	meta := arrow.NewMetadata([]string{"parca_write_schema_version"}, []string{"v2"})
	schema := arrow.NewSchema(fields, &meta)
	options := []ipc.Option{ipc.WithSchema(schema), ipc.WithAllocator(mem)}
	switch os.Args[2] {
	case "lz4":
		options = append(options, ipc.WithLZ4())
	case "zstd":
		options = append(options, ipc.WithZstd())
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, options...)
	if err := w.Write(array.NewRecord(schema, arrays, 4)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	os.Stdout.Write(out.Bytes())
}
