package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/hibiken/asynq"
)

type sentDocument struct {
	ID string `json:"id"`
}

// enqueueTasks puts --n equal tasks into a queue and prints their ids.
func enqueueTasks(args []string) error {
	flags, redis := newFlags("enqueue")
	queue := flags.String("queue", "default", "name of the queue")
	kind := flags.String("type", "test", "type of the task")
	payload := flags.String("payload-base64", "", "payload of the task")
	id := flags.String("id", "", "id of the task; asynq makes one when it is empty")
	timeout := flags.Duration("timeout", 0, "time limit of the task; asynq's default of 30m when it is 0")
	maxRetry := flags.Int("max-retry", 25, "how often the task may be retried")
	unique := flags.Duration("unique", 0, "how long the task holds its unique key; none when it is 0")
	count := flags.Int("n", 1, "how many tasks")
	_ = flags.Parse(args)

	if *id != "" && *count != 1 {
		return errors.New("--id names one task: it does not go with --n")
	}
	bytes, err := base64.StdEncoding.DecodeString(*payload)
	if err != nil {
		return fmt.Errorf("--payload-base64: %w", err)
	}
	options := []asynq.Option{asynq.Queue(*queue), asynq.MaxRetry(*maxRetry)}
	if *id != "" {
		options = append(options, asynq.TaskID(*id))
	}
	if *timeout > 0 {
		options = append(options, asynq.Timeout(*timeout))
	}
	if *unique > 0 {
		options = append(options, asynq.Unique(*unique))
	}

	client := asynq.NewClient(connection(*redis))
	defer client.Close()
	for range *count {
		task, err := client.Enqueue(asynq.NewTask(*kind, bytes), options...)
		if err != nil {
			return err
		}
		if err := printJSON(sentDocument{ID: task.ID}); err != nil {
			return err
		}
	}
	return nil
}

type canceledDocument struct {
	ID   string `json:"id"`
	Sent string `json:"sent"`
}

// cancelTask publishes a cancelation. It tells nothing about who heard it.
func cancelTask(args []string) error {
	flags, redis := newFlags("cancel")
	id := flags.String("id", "", "id of the task")
	_ = flags.Parse(args)

	inspector := asynq.NewInspector(connection(*redis))
	defer inspector.Close()
	if err := inspector.CancelProcessing(*id); err != nil {
		return err
	}
	return printJSON(canceledDocument{ID: *id, Sent: timestamp(time.Now())})
}
