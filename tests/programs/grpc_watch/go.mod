module grpc_watch

go 1.19

require google.golang.org/grpc v1.64.1
