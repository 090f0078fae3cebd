module otlp

go 1.22

require go.opentelemetry.io/proto/otlp v1.4.0
