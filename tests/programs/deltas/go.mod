module deltas

go 1.19

require (
	github.com/felixge/fgprof v0.9.4
	github.com/grafana/pyroscope-go/godeltaprof v0.1.8
)

require (
	github.com/google/pprof v0.0.0-20240227163752-401108e1b7e7 // indirect
	github.com/klauspost/compress v1.17.8 // indirect
)
