// Command asynqpeer is the other side of the interoperability tests: asynq's own code reading what this
// project writes, and writing what this project reads. Every result is one JSON document per line on stdout.
package main

import (
	"fmt"
	"os"
)

var commands = map[string]func(args []string) error{
	"servers": listServers,
	"active":  listActiveTasks,
	"queue":   describeQueue,
	"cancel":  cancelTask,
	"enqueue": enqueueTasks,
	"serve":   serve,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: asynqpeer servers|active|queue|cancel|enqueue|serve --redis HOST:PORT [flags]")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "asynqpeer %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
