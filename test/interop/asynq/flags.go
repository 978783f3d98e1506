package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"github.com/hibiken/asynq"
)

// newFlags makes a command's flag set with the one flag that all commands share: where Redis is.
func newFlags(command string) (*flag.FlagSet, *string) {
	flags := flag.NewFlagSet(command, flag.ExitOnError)
	return flags, flags.String("redis", "127.0.0.1:6379", "address of Redis")
}

func connection(address string) asynq.RedisClientOpt {
	return asynq.RedisClientOpt{Addr: address}
}

// parseQueues reads "default=1,low=2" as queue priorities.
func parseQueues(text string) (map[string]int, error) {
	queues := make(map[string]int)
	for _, entry := range strings.Split(text, ",") {
		name, priority, found := strings.Cut(entry, "=")
		number, err := strconv.Atoi(priority)
		if !found || err != nil {
			return nil, fmt.Errorf("--queues wants name=priority,…; got %q", entry)
		}
		queues[name] = number
	}
	return queues, nil
}
