module otlp

go 1.22

require go.opentelemetry.io/proto/otlp v1.5.0
