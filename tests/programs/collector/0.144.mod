module collector

go 1.25.0

require (
	go.opentelemetry.io/collector/component v1.50.0
	go.opentelemetry.io/collector/confmap v1.50.0
	go.opentelemetry.io/collector/confmap/provider/fileprovider v1.50.0
	go.opentelemetry.io/collector/exporter v1.50.0
	go.opentelemetry.io/collector/exporter/otlpexporter v0.144.0
	go.opentelemetry.io/collector/exporter/otlphttpexporter v0.144.0
	go.opentelemetry.io/collector/otelcol v0.144.0
	go.opentelemetry.io/collector/receiver v1.50.0
	go.opentelemetry.io/collector/receiver/otlpreceiver v0.144.0
	go.opentelemetry.io/collector/service v0.144.0
	go.uber.org/zap v1.27.1
)
