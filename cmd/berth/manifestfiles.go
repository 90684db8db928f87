package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// stdinName stands for standard input on the command line.
const stdinName = "-"

// loadManifests reads the objects of files, directories and standard input, in
// that order, as kubectl does. What can't be read does not hide the rest.
func loadManifests(paths []string, recursive bool, stdin io.Reader) (out []*manifest, errs []error) {
	for _, path := range paths {
		files, err := manifestFiles(path, recursive)
		if err != nil {
			errs = append(errs, err)
		}
		for _, file := range files {
			more, wrong := loadFile(file, stdin)
			out, errs = append(out, more...), append(errs, wrong...)
		}
	}
	if len(out) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("no objects in the input"))
	}
	return out, errs
}

func loadFile(file string, stdin io.Reader) ([]*manifest, []error) {
	read, name := func() ([]byte, error) { return os.ReadFile(file) }, file
	if file == stdinName {
		read, name = func() ([]byte, error) { return io.ReadAll(stdin) }, "stdin"
	}
	data, err := read()
	if err != nil {
		return nil, []error{fmt.Errorf("can't read %s: %w", name, withoutPath(err))}
	}
	return readManifests(data, name)
}

// manifestFiles are the files that a path stands for: itself, or the YAML and
// JSON files of a directory, sorted.
func manifestFiles(path string, recursive bool) ([]string, error) {
	if path == stdinName {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("can't read %s: %w", path, withoutPath(err))
	case !info.IsDir():
		return []string{path}, nil
	}
	var files []string
	err = filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("can't read %s: %w", name, withoutPath(err))
		case entry.IsDir() && name != path && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			files = append(files, name)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no .yaml, .yml or .json file in this directory", path)
	}
	return files, err
}

// withoutPath is the failure without the path, which the message says already.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
