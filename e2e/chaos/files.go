package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"github.com/icecore-catalog/icecore/iceberg/manifest"
	"github.com/icecore-catalog/icecore/internal/ids"
)

// checkFiles loads every table and view that lives and looks for every file that
// its metadata reaches: pointer, metadata log, manifest lists, manifests, data. live
// are the tables' folders.
func (r *rig) checkFiles(ctx context.Context, c *client, homes []*warehouse) (p *problems, live map[string]bool, figure string, err error) {
	p, live = &problems{}, map[string]bool{}
	tables, files := 0, 0
	look := func(of, location string) ([]byte, bool) {
		files++
		data, err := os.ReadFile(pathOf(location))
		if err != nil {
			p.add("%s reaches %s: %v", of, location, err)
		}
		return data, err == nil
	}
	for _, w := range homes {
		namespaces, err := c.names(ctx, w.prefix+"/namespaces", "namespaces")
		if err != nil {
			return nil, nil, "", err
		}
		for _, ns := range namespaces {
			list, err := c.names(ctx, w.namespacePath(ns)+"/tables", "identifiers")
			if err != nil {
				return nil, nil, "", err
			}
			for _, name := range list {
				tables++
				of := w.name + "." + ns + "." + name
				a, err := c.get(ctx, w.namespacePath(ns)+"/tables/"+name)
				if err != nil {
					return nil, nil, "", err
				}
				if a.status != http.StatusOK {
					p.add("load %s: %d %.300s", of, a.status, a.body)
					continue
				}
				d, err := parseDocument(a.body)
				if err != nil {
					return nil, nil, "", err
				}
				live[pathOf(d.Metadata.Location)] = true
				look(of, d.MetadataLocation)
				for _, m := range d.Metadata.MetadataLog {
					look(of, m.File)
				}
				for _, s := range d.Metadata.Snapshots {
					if err := reach(ctx, of, s.List, look); err != nil {
						p.add("%s: snapshot %d: %v", of, s.ID, err)
					}
				}
			}
		}
	}
	return p, live, fmt.Sprintf("%d files of %d tables", files, tables), nil
}

// reach follows a manifest list down to its data files.
func reach(ctx context.Context, of, list string, look func(of, location string) ([]byte, bool)) error {
	data, ok := look(of, list)
	if !ok {
		return nil
	}
	return manifest.List(ctx, data, func(path string) error {
		data, ok := look(of, path)
		if !ok {
			return nil
		}
		return manifest.Files(ctx, data, func(path string) error {
			look(of, path)
			return nil
		})
	})
}

// names lists namespaces of one level, or the names in a namespace, page by page.
func (c *client) names(ctx context.Context, path, member string) (names []string, err error) {
	for token := ""; ; {
		a, err := c.get(ctx, path+"?pageSize=1000&pageToken="+url.QueryEscape(token))
		if err != nil {
			return nil, err
		}
		if a.status != http.StatusOK {
			return nil, fmt.Errorf("list %s: %d %.300s", path, a.status, a.body)
		}
		var page map[string]json.RawMessage
		if err := unmarshal(a.body, &page); err != nil {
			return nil, err
		}
		if member == "namespaces" {
			var list [][]string
			err = json.Unmarshal(page[member], &list)
			for _, levels := range list {
				names = append(names, levels[len(levels)-1])
			}
		} else {
			var list []struct{ Name string }
			err = json.Unmarshal(page[member], &list)
			for _, i := range list {
				names = append(names, i.Name)
			}
		}
		if err != nil {
			return nil, err
		}
		token = ""
		if next := page["next-page-token"]; next != nil && !bytes.Equal(next, []byte("null")) {
			if err := json.Unmarshal(next, &token); err != nil {
				return nil, err
			}
		}
		if token == "" {
			return names, nil
		}
	}
}

// droppedTree finds the namespace of a name among those that can come back. It may
// have expired by now, or the server may not answer: then it stays dropped.
func (c *client) droppedTree(ctx context.Context, w *warehouse, name string) (ids.ID, bool) {
	a, err := c.get(ctx, "/management/v1/warehouse/"+w.id+"/deleted-namespaces?pageSize=1000")
	if err != nil || a.status != http.StatusOK {
		return ids.Nil, false
	}
	var page struct {
		Namespaces []struct {
			ID        ids.ID
			Namespace []string
		}
	}
	if err := unmarshal(a.body, &page); err != nil {
		c.books.complain("list dropped namespaces: %v", err)
		return ids.Nil, false
	}
	for _, n := range page.Namespaces {
		if len(n.Namespace) == 1 && n.Namespace[0] == name {
			return n.ID, true
		}
	}
	return ids.Nil, false
}
