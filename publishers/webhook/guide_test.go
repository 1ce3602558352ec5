package webhook_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/icecore-catalog/icecore/publishers/publishertest"
)

const guide = "../../docs/guides/webhooks.md"

// block returns the guide's first block of code in a language.
func block(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("the guide has no code in %s", language)
	}
	return code
}

func TestGuide(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("verify_example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "// begin\n")
	code, _, _ := strings.Cut(rest, "\n// end")
	if strings.TrimSpace(code) != strings.TrimSpace(block(t, "go")) {
		t.Error("the guide's code in Go is not what verify_example_test.go tests")
	}
}

// signed has a request posted, by two secrets, and returns it.
func signed(t *testing.T) (http.Header, []byte) {
	t.Helper()
	e := newEndpoint(t)
	if err := publish(t, e.open(t, map[string]string{"previous-signing-secret": "old-key"}), publishertest.NewLog(t), 3); err != nil {
		t.Fatal(err)
	}
	return e.requests[0].Header, e.bodies[0]
}

func bothKeys(t *testing.T) [][]byte {
	t.Helper()
	decoded, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	return [][]byte{decoded, []byte("another key of thirty-two bytes ")}
}

func TestReceiverInGoVerifies(t *testing.T) {
	t.Parallel()
	header, body := signed(t)
	for i, k := range bothKeys(t) {
		if err := verify(k, header, body, time.Now()); err != nil {
			t.Errorf("key %d: %v", i, err)
		}
	}
	k := bothKeys(t)[0]
	if err := verify([]byte("another"), header, body, time.Now()); err == nil {
		t.Error("another secret verifies")
	}
	if err := verify(k, header, append(bytes.Clone(body), ' '), time.Now()); err == nil {
		t.Error("another body verifies")
	}
	if err := verify(k, header, body, time.Now().Add(6*time.Minute)); err == nil {
		t.Error("an old request verifies")
	}
	for _, name := range []string{"webhook-id", "webhook-timestamp"} {
		changed := header.Clone()
		changed.Set(name, changed.Get(name)+"1")
		if err := verify(k, changed, body, time.Now()); err == nil {
			t.Errorf("another %s verifies", name)
		}
	}
}

func TestReceiverInPythonVerifies(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("needs Python 3")
	}
	header, body := signed(t)
	keys := bothKeys(t)
	input, err := json.Marshal(map[string]any{
		"keys": keys, "body": body, // base64, as Go writes bytes
		"headers": map[string]string{
			"webhook-id": header.Get("webhook-id"), "webhook-timestamp": header.Get("webhook-timestamp"), "webhook-signature": header.Get("webhook-signature"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	program := block(t, "python") + `
import json, sys
given = json.load(sys.stdin)
keys, body, headers = [base64.b64decode(k) for k in given["keys"]], base64.b64decode(given["body"]), given["headers"]
assert all(verify(k, headers, body) for k in keys)
assert not verify(b"another", headers, body)
assert not verify(keys[0], headers, body + b" ")
assert not verify(keys[0], {**headers, "webhook-id": "x"}, body)
assert not verify(keys[0], {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) - 301)}, body)
`
	cmd := exec.CommandContext(t.Context(), python, "-c", program)
	cmd.Stdin = bytes.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
