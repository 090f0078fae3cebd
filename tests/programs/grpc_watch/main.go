// SPDX-License-Identifier: Apache-2.0

// Connects as a balancer of grpc-go does that minds health, and says each state of the connection: READY as long as
// Health/Watch says SERVING of the service.
//
//	grpc_watch ADDRESS SERVICE SECONDS
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health"
)

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: grpc_watch ADDRESS SERVICE SECONDS")
	}
	patience, err := time.ParseDuration(os.Args[3] + "s")
	if err != nil {
		log.Fatal(err)
	}
	config := fmt.Sprintf(`{"loadBalancingConfig":[{"round_robin":{}}],"healthCheckConfig":{"serviceName":%q}}`, os.Args[2])
	conn, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(config))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn.Connect()
	for state := conn.GetState(); ; state = conn.GetState() {
		fmt.Println(state)
		if !conn.WaitForStateChange(ctx, state) {
			return
		}
	}
}
