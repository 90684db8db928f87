// Command app is what the tests' containers run, and the pause container too: it
// reads and writes files, says on standard output what it read, and waits.
//
//	app pause               waits for SIGTERM
//	app serve FILE...       prints the files, then waits for SIGTERM
//	app cat FILE...         prints the files and ends
//	app write FILE TEXT     writes TEXT and ends
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// Before anything else, so that an early SIGTERM ends a pod at once, too.
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	if err := run(os.Args[1:], ended); err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(1)
	}
}

func run(args []string, ended <-chan os.Signal) error {
	if len(args) == 0 {
		return errors.New("say pause, serve, cat or write")
	}
	switch command, args := args[0], args[1:]; command {
	case "pause":
		<-ended
		return nil
	case "serve":
		if err := cat(args); err != nil {
			return err
		}
		<-ended
		return nil
	case "cat":
		return cat(args)
	case "write":
		if len(args) != 2 {
			return errors.New("write takes a file and a text")
		}
		return os.WriteFile(args[0], []byte(args[1]), 0o644)
	default:
		return fmt.Errorf("unknown command %q", command)
	}
}

func cat(files []string) error {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Printf("%s\n", text)
	}
	return nil
}
