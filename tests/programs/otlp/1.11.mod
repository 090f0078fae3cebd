module otlp

go 1.23

require go.opentelemetry.io/proto/otlp/collector/profiles/v1development v0.4.0
