package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hibiken/asynq"
)

type eventDocument struct {
	Event string `json:"event"`
	ID    string `json:"id,omitempty"`
	Queue string `json:"queue,omitempty"`
	Error string `json:"error,omitempty"`
}

// serve runs an asynq server whose tasks only sleep. SIGTSTP makes it take no new tasks, SIGTERM or SIGINT
// shuts it down in order.
func serve(args []string) error {
	flags, redis := newFlags("serve")
	queues := flags.String("queues", "default=1", "queues and their priorities: name=priority,…")
	concurrency := flags.Int("concurrency", 10, "how many tasks run at once")
	strict := flags.Bool("strict", false, "strict priority")
	sleep := flags.Duration("sleep", time.Hour, "how long each task runs")
	shutdownTimeout := flags.Duration("shutdown-timeout", time.Second, "how long running tasks are waited for")
	_ = flags.Parse(args)

	priorities, err := parseQueues(*queues)
	if err != nil {
		return err
	}
	// Before the start, so that a signal that comes early is not lost.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGTSTP)

	server := asynq.NewServer(connection(*redis), asynq.Config{
		Queues:          priorities,
		Concurrency:     *concurrency,
		StrictPriority:  *strict,
		ShutdownTimeout: *shutdownTimeout,
		LogLevel:        asynq.WarnLevel,
	})
	if err := server.Start(sleepingHandler(*sleep)); err != nil {
		return err
	}
	if err := printJSON(eventDocument{Event: "ready"}); err != nil {
		return err
	}
	for received := range signals {
		if received != syscall.SIGTSTP {
			break
		}
		server.Stop()
		if err := printJSON(eventDocument{Event: "stopped"}); err != nil {
			return err
		}
	}
	server.Shutdown()
	return printJSON(eventDocument{Event: "shutdown"})
}

func sleepingHandler(sleep time.Duration) asynq.HandlerFunc {
	return func(ctx context.Context, _ *asynq.Task) error {
		id, _ := asynq.GetTaskID(ctx)
		queue, _ := asynq.GetQueueName(ctx)
		if err := printJSON(eventDocument{Event: "started", ID: id, Queue: queue}); err != nil {
			return err
		}
		timer := time.NewTimer(sleep)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			_ = printJSON(eventDocument{Event: "canceled", ID: id, Queue: queue, Error: ctx.Err().Error()})
			return ctx.Err()
		case <-timer.C:
			return printJSON(eventDocument{Event: "finished", ID: id, Queue: queue})
		}
	}
}
