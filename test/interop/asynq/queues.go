package main

import (
	"encoding/base64"

	"github.com/hibiken/asynq"
)

// asynq lists 30 tasks unless told otherwise.
const pageSize = 1000

type taskDocument struct {
	ID             string `json:"id"`
	Type           string `json:"type"`
	Queue          string `json:"queue"`
	Payload        string `json:"payload"`
	State          string `json:"state"`
	IsOrphaned     bool   `json:"is_orphaned"`
	MaxRetry       int    `json:"max_retry"`
	Retried        int    `json:"retried"`
	LastErr        string `json:"last_err"`
	TimeoutSeconds int64  `json:"timeout_seconds"`
	Deadline       string `json:"deadline"`
}

type queueDocument struct {
	Queue          string  `json:"queue"`
	Size           int     `json:"size"`
	Pending        int     `json:"pending"`
	Active         int     `json:"active"`
	Scheduled      int     `json:"scheduled"`
	Retry          int     `json:"retry"`
	Archived       int     `json:"archived"`
	Completed      int     `json:"completed"`
	Aggregating    int     `json:"aggregating"`
	Groups         int     `json:"groups"`
	Processed      int     `json:"processed"`
	Failed         int     `json:"failed"`
	ProcessedTotal int     `json:"processed_total"`
	FailedTotal    int     `json:"failed_total"`
	Paused         bool    `json:"paused"`
	LatencySeconds float64 `json:"latency_seconds"`
	MemoryUsage    int64   `json:"memory_usage"`
	Timestamp      string  `json:"timestamp"`
}

// listActiveTasks prints each active task of a queue, in the order of the list.
func listActiveTasks(args []string) error {
	flags, redis := newFlags("active")
	queue := flags.String("queue", "default", "name of the queue")
	_ = flags.Parse(args)

	inspector := asynq.NewInspector(connection(*redis))
	defer inspector.Close()
	for page := 1; ; page++ {
		tasks, err := inspector.ListActiveTasks(*queue, asynq.PageSize(pageSize), asynq.Page(page))
		if err != nil {
			return err
		}
		for _, task := range tasks {
			if err := printJSON(describeTask(task)); err != nil {
				return err
			}
		}
		// An id without a task hash is skipped by asynq, so a page may be short before the last one.
		if len(tasks) == 0 {
			return nil
		}
	}
}

func describeTask(task *asynq.TaskInfo) taskDocument {
	return taskDocument{
		ID:             task.ID,
		Type:           task.Type,
		Queue:          task.Queue,
		Payload:        base64.StdEncoding.EncodeToString(task.Payload),
		State:          task.State.String(),
		IsOrphaned:     task.IsOrphaned,
		MaxRetry:       task.MaxRetry,
		Retried:        task.Retried,
		LastErr:        task.LastErr,
		TimeoutSeconds: int64(task.Timeout.Seconds()),
		Deadline:       timestamp(task.Deadline),
	}
}

// describeQueue prints asynq's summary of one queue.
func describeQueue(args []string) error {
	flags, redis := newFlags("queue")
	name := flags.String("queue", "default", "name of the queue")
	_ = flags.Parse(args)

	inspector := asynq.NewInspector(connection(*redis))
	defer inspector.Close()
	queue, err := inspector.GetQueueInfo(*name)
	if err != nil {
		return err
	}
	return printJSON(queueDocument{
		Queue:          queue.Queue,
		Size:           queue.Size,
		Pending:        queue.Pending,
		Active:         queue.Active,
		Scheduled:      queue.Scheduled,
		Retry:          queue.Retry,
		Archived:       queue.Archived,
		Completed:      queue.Completed,
		Aggregating:    queue.Aggregating,
		Groups:         queue.Groups,
		Processed:      queue.Processed,
		Failed:         queue.Failed,
		ProcessedTotal: queue.ProcessedTotal,
		FailedTotal:    queue.FailedTotal,
		Paused:         queue.Paused,
		LatencySeconds: queue.Latency.Seconds(),
		MemoryUsage:    queue.MemoryUsage,
		Timestamp:      timestamp(queue.Timestamp),
	})
}
