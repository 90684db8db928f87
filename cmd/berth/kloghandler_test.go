package main

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
)

func TestKlogHandler(t *testing.T) {
	logged := func(level slog.Level, log func(logr.Logger)) string {
		var out bytes.Buffer
		log(logr.FromSlogHandler(klogHandler{slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})}))
		return out.String()
	}
	retry := func(l logr.Logger) { l.WithName(unhandled).Error(errors.New("forbidden"), "Failed to watch") }
	other := func(l logr.Logger) { l.WithName("x").WithValues("k", "v").Error(errors.New("bad"), "Broken") }
	assert.Empty(t, logged(slog.LevelInfo, retry), "the informers tell of it once")
	assert.Contains(t, logged(slog.LevelDebug, retry), "level=DEBUG msg=\"Failed to watch\"")
	assert.Contains(t, logged(slog.LevelInfo, other), "level=ERROR msg=Broken k=v")
}
