package main

import (
	"encoding/json"
	"os"
	"sync"
	"time"
)

// Handlers run concurrently; a line must not be torn apart by another one.
var outputLock sync.Mutex

func printJSON(document any) error {
	line, err := json.Marshal(document)
	if err != nil {
		return err
	}
	outputLock.Lock()
	defer outputLock.Unlock()
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}

// timestamp formats by hand because time.Time refuses to become JSON outside the years 0 to 9999, and a test
// wants to see whatever value was decoded.
func timestamp(t time.Time) string {
	return t.UTC().Format(time.RFC3339Nano)
}
