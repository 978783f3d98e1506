package main

import (
	"encoding/base64"
	"sort"

	"github.com/hibiken/asynq"
)

type serverDocument struct {
	ID             string           `json:"id"`
	Host           string           `json:"host"`
	PID            int              `json:"pid"`
	Concurrency    int              `json:"concurrency"`
	Queues         map[string]int   `json:"queues"`
	StrictPriority bool             `json:"strict_priority"`
	Started        string           `json:"started"`
	Status         string           `json:"status"`
	ActiveWorkers  []workerDocument `json:"active_workers"`
}

type workerDocument struct {
	TaskID      string `json:"task_id"`
	TaskType    string `json:"task_type"`
	TaskPayload string `json:"task_payload"`
	Queue       string `json:"queue"`
	Started     string `json:"started"`
	Deadline    string `json:"deadline"`
}

// listServers prints each server that asynq's Inspector sees, sorted by id.
func listServers(args []string) error {
	flags, redis := newFlags("servers")
	_ = flags.Parse(args)

	inspector := asynq.NewInspector(connection(*redis))
	defer inspector.Close()
	servers, err := inspector.Servers()
	if err != nil {
		return err
	}
	sort.Slice(servers, func(i, j int) bool { return servers[i].ID < servers[j].ID })
	for _, server := range servers {
		if err := printJSON(describeServer(server)); err != nil {
			return err
		}
	}
	return nil
}

func describeServer(server *asynq.ServerInfo) serverDocument {
	workers := make([]workerDocument, 0, len(server.ActiveWorkers))
	for _, worker := range server.ActiveWorkers {
		workers = append(workers, workerDocument{
			TaskID:      worker.TaskID,
			TaskType:    worker.TaskType,
			TaskPayload: base64.StdEncoding.EncodeToString(worker.TaskPayload),
			Queue:       worker.Queue,
			Started:     timestamp(worker.Started),
			Deadline:    timestamp(worker.Deadline),
		})
	}
	// Redis keeps them in a hash, whose order is chance.
	sort.Slice(workers, func(i, j int) bool {
		if workers[i].Queue != workers[j].Queue {
			return workers[i].Queue < workers[j].Queue
		}
		return workers[i].TaskID < workers[j].TaskID
	})
	return serverDocument{
		ID:             server.ID,
		Host:           server.Host,
		PID:            server.PID,
		Concurrency:    server.Concurrency,
		Queues:         server.Queues,
		StrictPriority: server.StrictPriority,
		Started:        timestamp(server.Started),
		Status:         server.Status,
		ActiveWorkers:  workers,
	}
}
